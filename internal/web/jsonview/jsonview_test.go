package jsonview

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func text(v View) string {
	var b strings.Builder
	for _, t := range v.Tokens {
		b.WriteString(t.Text)
	}
	return b.String()
}

func TestRenderKeepsWhatIsStored(t *testing.T) {
	raw := `{"id":12345678901234567890,"id":1.10,"b":[],"o":{},"lines":[{"sku":"a/b","qty":2},[1,2]],"n":null,"t":true}`
	v := Render([]byte(raw), Options{})
	require.True(t, v.Valid)
	require.False(t, v.Truncated)
	require.Equal(t, `{
  "id": 12345678901234567890,
  "id": 1.10,
  "b": [],
  "o": {},
  "lines": [
    { "sku": "a/b", "qty": 2 },
    [1, 2]
  ],
  "n": null,
  "t": true
}`, text(v))
	require.Contains(t, v.Tokens, Token{Key, `"sku"`})
	require.Contains(t, v.Tokens, Token{Number, "12345678901234567890"})
	require.Contains(t, v.Tokens, Token{Word, "null"})
	require.Contains(t, v.Tokens, Token{String, `"a/b"`})
}

func TestRenderMasksAtAnyDepth(t *testing.T) {
	masked := MaskKeys([]string{"api_key", "token"})
	raw := `{"Api-Key":{"a":"s3cret"},"x":[{"token":"s3cret"},{"TOKEN":["s3cret"]}],"tokens":"kept"}`
	v := Render([]byte(raw), Options{Masked: masked})
	require.NotContains(t, text(v), "s3cret")
	require.Contains(t, text(v), "kept")
	require.Equal(t, `{"Api-Key":"masked","x":[{"token":"masked"},{"TOKEN":"masked"}],"tokens":"kept"}`, string(Redact([]byte(raw), masked)))
}

func TestTextThatIsNotJSON(t *testing.T) {
	v := Render([]byte("a <b> \x00\xff\u202e"), Options{})
	require.False(t, v.Valid)
	require.Equal(t, `a <b> \u0000\xff\u202e`, text(v))

	masked := MaskKeys([]string{"password"})
	require.Equal(t, []Token{{Mask, MaskText}}, Render([]byte(`{password: s3cret`), Options{Masked: masked}).Tokens)
	require.Equal(t, `"masked"`, string(Redact([]byte(`{password: s3cret`), masked)))
	require.Equal(t, `{nothing`, string(Redact([]byte(`{nothing`), masked)))
}

func TestMaskKeysMatchWords(t *testing.T) {
	masked := MaskKeys([]string{"token", "api_key", "card"})
	for key, want := range map[string]bool{
		"token": true, "accessToken": true, "X-Auth-Token": true, "APIKEY": true, "apiKey": true, "my_api_key": true,
		"tokens": false, "discard": false, "key": false, "": false, "card": true, "card_number": true,
	} {
		require.Equal(t, want, masked(key), key)
	}
}

func TestLimitsAndCutText(t *testing.T) {
	v := Render([]byte(`{"a":"`+strings.Repeat("é", 100)+`"}`), Options{MaxBytes: 20})
	require.True(t, v.Truncated)
	require.LessOrEqual(t, len(text(v)), 20)

	cut := Render([]byte(`{"token":"s3cr`), Options{Cut: true, Masked: MaskKeys([]string{"token"})})
	require.True(t, cut.Truncated)
	require.NotContains(t, text(cut), "s3cr")
}

// TestCutTextThatIsNotJSON: what does not begin like JSON has no members to tell apart.
func TestCutTextThatIsNotJSON(t *testing.T) {
	masked := MaskKeys([]string{"token", "card number"})
	v := Render([]byte(`sent with token=s3cret and`), Options{Cut: true, Masked: masked})
	require.Equal(t, []Token{{Mask, MaskText}}, v.Tokens)
	require.True(t, Render([]byte("plain"), Options{Cut: true, Masked: masked}).Truncated)
	for raw, want := range map[string]string{
		`{"a":1,"token":"s3cr`:       `"masked"`,
		`{"a":1,"to\u006ben":"s3cr`:  `"masked"`,
		`{"a":1,"card number" : `:    `"masked"`,
		`got {"card number":1} back`: `"masked"`,
		`}{"a":1,"b":[`:              `}{"a":1,"b":[`,
	} {
		require.Equal(t, want, string(RedactPart([]byte(raw), masked)), raw)
		require.Equal(t, want, string(Redact([]byte(raw), masked)), raw)
	}
}

func TestDirectionMarksInStringsAreSpelt(t *testing.T) {
	require.Equal(t, "{\n  \"a\": \"x\\u202ey\"\n}", text(Render([]byte("{\"a\":\"x\u202ey\"}"), Options{})))
}

func FuzzRender(f *testing.F) {
	for _, s := range []string{`{"a":[1,{"token":2}]}`, `"x`, `[[[`, `{"token":{"a":"b"}}`, "\xff"} {
		f.Add([]byte(s), 50, false)
	}
	masked := MaskKeys([]string{"token"})
	f.Fuzz(func(t *testing.T, raw []byte, limit int, cut bool) {
		Render(raw, Options{MaxBytes: limit % 1000, Cut: cut, Masked: masked})
		RedactPart(raw, masked)
		out := Redact(raw, masked)
		if json.Valid(raw) && !json.Valid(out) {
			t.Fatalf("redacting %q gave %q", raw, out)
		}
		full := Render(raw, Options{MaxBytes: 1 << 20})
		if full.Valid && strings.ToValidUTF8(string(raw), "") == string(raw) && Visible(string(raw)) == string(raw) {
			require.JSONEq(t, string(raw), text(full))
		}
	})
}
