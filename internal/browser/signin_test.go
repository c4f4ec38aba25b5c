package browser

import (
	"fmt"
	"testing"

	"bullpen/internal/engine"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"
)

// Signing in leads to the page that was asked for, with and without a script; viewers have no buttons that write.
func TestSignIn(t *testing.T) {
	t.Parallel()
	hash, err := bcrypt.GenerateFromPassword([]byte("right"), bcrypt.MinCost)
	require.NoError(t, err)
	b := serve(t, fmt.Sprintf(`auth:
  users:
    - {name: vic, password_hash: "%[1]s", role: viewer}
    - {name: opal, password_hash: "%[1]s", role: operator}
`, hash))
	b.queue("mail").addMany(1, engine.JobOptions{})
	const pauses = `!!document.querySelector('[formaction$="/pause"], form[action$="/pause"]')`
	for name, l := range map[string]look{"script": {}, "no script": {plain: true}, "narrow": {width: 360, height: 740}} {
		t.Run(name, func(t *testing.T) {
			p := chrome.tab(t, b.URL, l)
			p.open("queues/mail")
			p.at("/login?back=")
			p.sees("Sign in to Bullpen")
			require.NotContains(t, p.text(), "mail")
			if !l.plain {
				p.accessible("{}")
				p.scheme("dark")
				p.accessible("{}")
			}
			require.True(t, must[bool](p, "document.documentElement.scrollWidth <= innerWidth"), "nothing sticks out")
			p.fill("name", "vic")
			p.fill("password", "wrong")
			p.click("Sign in")
			p.sees("Name or password is wrong.")
			p.expect("401")
			p.fill("password", "right")
			p.click("Sign in")
			p.sees("Signed in as vic (viewer)")
			p.at("/queues/mail")
			p.expect("404") // the first figures may not have been read yet
			p.openWhen("queues/mail", `document.querySelector('h1')?.innerText.trim() === 'mail'`)
			require.False(t, must[bool](p, pauses), "viewers have no buttons that write")
			p.click("Sign out")
			p.sees("Sign in to Bullpen")

			p.fill("name", "opal")
			p.fill("password", "right")
			p.click("Sign in")
			p.sees("Signed in as opal (operator)")
			p.openWhen("queues/mail", `document.querySelector('h1')?.innerText.trim() === 'mail'`)
			p.until("operators have buttons", pauses)
		})
	}
}
