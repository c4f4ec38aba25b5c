package browser

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// open goes to a path of the dashboard and waits until the page has answered.
func (p *tab) open(path string) {
	p.t.Helper()
	p.do(chromedp.Navigate(p.base + strings.TrimPrefix(path, "/")))
}

// openWhen opens a path again and again until a script is true on the page. Answers before that may be errors.
func (p *tab) openWhen(path, script string) {
	p.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		p.open(path)
		ok := must[bool](p, "!!("+script+")")
		if ok {
			return
		}
		require.False(p.t, time.Now().After(deadline), "%s is not there: %s", path, script)
		p.expect("404")
		time.Sleep(100 * time.Millisecond)
	}
}

// address is the path and query of the page.
func (p *tab) address() string {
	a, _ := eval[string](p, "location.pathname + location.search")
	return a
}

// text is what the reader sees.
func (p *tab) text() string {
	s, _ := eval[string](p, "document.body.innerText")
	return s
}

// sees waits until the page shows a text. White space in it matches any.
func (p *tab) sees(text string) {
	p.t.Helper()
	p.until("the page shows "+text, shows("document.body", text))
}

// shows is a script: an element's visible text contains the text.
func shows(element, text string) string {
	return fmt.Sprintf(`%s.innerText.replace(/\s+/g, ' ').includes(%s)`, element, quote(strings.Join(strings.Fields(text), " ")))
}

func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// at waits until the page's address contains part.
func (p *tab) at(part string) {
	p.t.Helper()
	p.until("the address contains "+part, `document.readyState === 'complete' && (location.pathname + location.search).includes(`+quote(part)+`)`)
}

// control is a script: the first visible link, button or summary with the label, in a region if one is named.
func control(label, within string) string {
	return fmt.Sprintf(`(() => {
		const words = (el) => (el.getAttribute('aria-label') || [...el.childNodes].filter((n) => n.nodeName !== 'KBD')
			.map((n) => n.textContent).join('')).replace(/\s+/g, ' ').trim();
		return [...document.querySelectorAll(%s)].flatMap((r) => [...r.querySelectorAll('a, button, summary')])
			.find((el) => el.checkVisibility() && (words(el) === %[2]s || words(el).startsWith(%[2]s + ' ')));
	})()`, quote(within), quote(label))
}

// click clicks the control with the label.
func (p *tab) click(label string) { p.t.Helper(); p.clickIn("body", label) }

// clickIn clicks the control with the label in what the selector names.
func (p *tab) clickIn(within, label string) {
	p.t.Helper()
	p.clickAt(label, control(label, within))
}

// clickAt moves the mouse to an element and clicks it, as a person would: it must be there, still and not covered.
func (p *tab) clickAt(what, script string) {
	p.t.Helper()
	at := p.middle(what, script)
	p.do(chromedp.MouseClickXY(at[0], at[1]))
}

// point moves the mouse over the element that script finds.
func (p *tab) point(what, script string) {
	p.t.Helper()
	at := p.middle(what, script)
	p.do(chromedp.MouseEvent("mouseMoved", at[0], at[1]))
}

// middle waits until the element that script finds can be clicked and returns the middle of what shows of it.
func (p *tab) middle(what, script string) []float64 {
	p.t.Helper()
	find := fmt.Sprintf(`(() => {
		const el = %s;
		if (!el) return [];
		el.scrollIntoView({ block: 'nearest', behavior: 'instant' });
		const r = el.getClientRects()[0];
		if (!r) return [];
		const x = r.left + r.width / 2, y = r.top + r.height / 2;
		const hit = document.elementFromPoint(x, y);
		return hit && el.contains(hit) ? [x, y] : [];
	})()`, script)
	deadline := time.Now().Add(patience)
	var last []float64
	for {
		at, err := eval[[]float64](p, find)
		if err == nil && len(at) == 2 && len(last) == 2 && at[0] == last[0] && at[1] == last[1] {
			return at
		}
		last = at
		require.False(p.t, time.Now().After(deadline), "cannot click: %s (%v)", what, err)
		time.Sleep(10 * time.Millisecond)
	}
}

// press presses keys one after the other. The browser makes the characters out of them, unless the page forbids it.
func (p *tab) press(keys ...string) {
	p.t.Helper()
	for _, text := range keys {
		k := kb.Keys[[]rune(text)[0]]
		for _, kind := range []input.DispatchKeyEventType{input.DispatchKeyEventTypeKeyDown, input.DispatchKeyEventTypeKeyUp} {
			e := input.DispatchKeyEventParams{Type: kind, Key: k.Key, Code: k.Code, WindowsVirtualKeyCode: k.Windows, NativeVirtualKeyCode: k.Native}
			if kind == input.DispatchKeyEventTypeKeyDown && k.Print {
				e.Text, e.UnmodifiedText = k.Text, k.Unmodified
			}
			_, err := chromedp.Call(p.ctx, input.DispatchKeyEvent, e)
			require.NoError(p.t, err)
		}
	}
}

// fill puts text into the field with the name, replacing what is there; the question's, while one is open.
func (p *tab) fill(name, text string) {
	p.t.Helper()
	field := `[...(document.querySelector('dialog') || document).querySelectorAll('[name="` + name + `"]')].find((el) => el.checkVisibility())`
	p.clickAt("field "+name, field)
	p.until("field "+name+" is chosen", field+`.select() || document.activeElement === `+field)
	p.do(chromedp.KeyEvent(text))
}

// mark notes on the page that it is this one; reloaded tells whether it has been replaced since.
func (p *tab) mark() {
	p.t.Helper()
	must[bool](p, `document.documentElement.dataset.mark = 'same', true`)
}

func (p *tab) reloaded() bool {
	p.t.Helper()
	return must[bool](p, `document.documentElement.dataset.mark !== 'same'`)
}
