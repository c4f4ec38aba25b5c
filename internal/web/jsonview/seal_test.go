package jsonview

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var secret = MaskKeys([]string{"password", "token"})

func seal(t *testing.T, raw string) Sealed {
	t.Helper()
	s, err := Seal([]byte(raw), secret)
	require.NoError(t, err)
	require.True(t, json.Valid([]byte(s.Text)), s.Text)
	return s
}

const sealedJob = `{"user":"ada", "n":12345678901234567890, "password":"hunter2","cards":[{"token":{"a":[1,"x"]}},{"token":null}], "n":1.10}`

func TestSealHidesAndOpenGivesBack(t *testing.T) {
	s := seal(t, sealedJob)
	require.NotContains(t, s.Text, "hunter2")
	for _, want := range []string{`"password": "masked 1"`, `"token": "masked 2"`, `"token": "masked 3"`, "12345678901234567890", `"n": 1.10`} {
		require.Contains(t, s.Text, want)
	}
	same, err := s.Open([]byte(strings.ReplaceAll(s.Text, "\n", "\r\n")))
	require.NoError(t, err)
	require.Equal(t, sealedJob, string(same), "byte for byte")

	changed, err := s.Open([]byte(strings.Replace(s.Text, `"ada"`, `"eve"`, 1)))
	require.NoError(t, err)
	var got bytesOf
	require.NoError(t, json.Unmarshal(changed, &got))
	require.Equal(t, `"hunter2"`, string(got.Password))
	require.Equal(t, `"eve"`, string(got.User))
	require.Equal(t, `{"a":[1,"x"]}`, string(got.Cards[0].Token))
	require.Equal(t, `null`, string(got.Cards[1].Token))
	require.NotContains(t, string(changed), MaskText)
}

type bytesOf struct {
	User, Password json.RawMessage
	Cards          []struct{ Token json.RawMessage }
}

func TestOpenFollowsTheMarks(t *testing.T) {
	s := seal(t, sealedJob)
	for edited, want := range map[string]string{
		`{"password":"new"}`:                               `{"password":"new"}`,
		`{}`:                                               `{}`,
		`{"password" :  "masked 1" }`:                      `{"password" :  "hunter2" }`,
		`{"password":"mask\u0065d 1"}`:                     `{"password":"hunter2"}`,
		`{"cards":[{"token":"masked 3"}]}`:                 `{"cards":[{"token":null}]}`, // the other element was dropped
		`[{"token":"masked 3"},{"token":"masked 2"}]`:      `[{"token":null},{"token":{"a":[1,"x"]}}]`,
		`{"password":"masked"}`:                            `{"password":"hunter2"}`, // what the API shows; there is only one
		`{"note":"masked","password":["masked 9"]}`:        `{"note":"masked","password":["masked 9"]}`,
		`{"password":"masked 1","x":{"password":"other"}}`: `{"password":"hunter2","x":{"password":"other"}}`,
		`"plain"`: `"plain"`,
	} {
		got, err := s.Open([]byte(edited))
		require.NoError(t, err, edited)
		require.Equal(t, want, string(got))
	}
	for edited, want := range map[string]string{
		`{"user":"masked 1"}`:                   `stands for the masked value of "password"`,
		`{"user":"mask\u0065d 1"}`:              `stands for the masked value of "password"`,
		`{"Password":"masked 1"}`:               `stands for the masked value of "password"`,
		`{"token":"masked 1"}`:                  `stands for the masked value of "password"`,
		`{"password":["masked 1"]}`:             `stands for the masked value of "password"`,
		`{"password":{"password2":"masked 1"}}`: `stands for the masked value`,
		`["masked 2"]`:                          `stands for the masked value of "token"`,
		`"masked 2"`:                            `stands for the masked value of "token"`,
		`{"masked 2":1}`:                        `cannot be a name`,
		`{"password":[], "x":["masked 1"]}`:     `stands for the masked value`,
		`{"token":"masked"}`:                    `not clear which value is meant`,
		`{"accessToken":"masked"}`:              `not clear which value is meant`, // none of this name is stored
		`{"password":`:                          `not JSON`,
	} {
		_, err := s.Open([]byte(edited))
		require.ErrorContains(t, err, want, edited)
	}
}

func TestSealFindsWordsThatAreFree(t *testing.T) {
	s := seal(t, `{"note":"masked 1","password":"x"}`)
	require.Contains(t, s.Text, `"note": "masked 1"`)
	require.Contains(t, s.Text, `"password": "masked* 1"`)
	got, err := s.Open([]byte(`{"note":"masked 1","password":"masked* 1"}`))
	require.NoError(t, err)
	require.Equal(t, `{"note":"masked 1","password":"x"}`, string(got))
}

func TestSealRefuses(t *testing.T) {
	for _, raw := range []string{"", "nope", `{"a":`, "{\"a\":\"\xff\"}"} {
		_, err := Seal([]byte(raw), secret)
		require.Error(t, err, raw)
	}
	deep := strings.Repeat("[", 9000) + strings.Repeat("]", 9000)
	_, err := Seal([]byte(deep), secret)
	require.ErrorIs(t, err, errTooDeep)
	open, err := Seal([]byte(`{"password":"x"}`), nil)
	require.NoError(t, err)
	got, err := open.Open([]byte(`{"password":"masked 1"}`))
	require.NoError(t, err)
	require.Equal(t, `{"password":"masked 1"}`, string(got), "nothing is masked, nothing is special")
}

// FuzzSeal: sealed text is JSON without masked values, and opening it unchanged but for a blank gives the same values.
func FuzzSeal(f *testing.F) {
	for _, s := range []string{sealedJob, `[]`, `{"password":"masked 1","a":"masked* 1"}`, `{"token":{"token":1},"password":[]}`, `"\ud800"`, "{\"\u202e\":1}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		s, err := Seal([]byte(raw), secret)
		if err != nil {
			return
		}
		require.True(t, json.Valid([]byte(s.Text)), "%q of %q", s.Text, raw)
		same, err := s.Open([]byte(s.Text))
		require.NoError(t, err)
		require.Equal(t, raw, string(same))
		opened, err := s.Open([]byte(s.Text + " "))
		require.NoError(t, err)
		require.Equal(t, decoded(t, raw), decoded(t, string(opened)))
	})
}

// decoded is a JSON text as values, numbers as written.
func decoded(t *testing.T, raw string) (v any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(raw))
	d.UseNumber()
	require.NoError(t, d.Decode(&v))
	return v
}
