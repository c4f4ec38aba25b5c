package browser

import (
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// worksWithoutScript looks at the page in a tab without script: it says what it is, and every button that shows does
// what it does by a form.
func (p *tab) worksWithoutScript(path string) {
	p.t.Helper()
	require.True(p.t, p.plain)
	p.open(path)
	wrong := must[[]string](p, `(() => {
		const short = (el) => el.outerHTML.slice(0, 160);
		const out = [];
		if (!document.querySelector('main h1')?.innerText.trim()) out.push('the page does not say what it is');
		for (const el of document.querySelectorAll('button')) {
			if (!el.checkVisibility() || el.disabled) continue;
			if (el.type !== 'submit' || !(el.getAttribute('formaction') || el.form?.getAttribute('action'))) out.push('does nothing: ' + short(el));
		}
		for (const el of document.querySelectorAll('a:not([href])')) if (el.checkVisibility()) out.push('leads nowhere: ' + short(el));
		return out;
	})()`)
	require.Empty(p.t, wrong, "without script")
	p.expect("404")
	p.expect("409")
	p.expect("422")
	require.Empty(p.t, p.complaints(), "the console must be empty")
}

// worksByKeyboard expects that everything that can be used can be reached, in the order of the page, and shows that it
// has the focus; and that "j" goes to the first row of a list, from where enter opens it.
func (p *tab) worksByKeyboard() {
	p.t.Helper()
	if rows := must[int](p, `document.querySelectorAll('main tr[data-row]').length`); rows > 0 {
		p.press("j")
		p.until("the first row has the focus", cursorOn(0)+` && document.activeElement.closest('main tr.cur')`)
	}
	p.press(kb.Tab)
	wrong := must[[]string](p, `(() => {
		const short = (el) => el.outerHTML.slice(0, 160);
		const out = [];
		const takes = 'a[href], button, summary, input, select, textarea, [tabindex="0"]';
		for (const el of document.querySelectorAll('[data-dialog], [data-copy], [data-copy-of], [data-show], [data-untick], [data-help], [data-key], [role=button]')) {
			if (!el.matches(takes)) out.push('cannot be reached: ' + short(el));
		}
		const seen = new Set();
		for (const el of document.querySelectorAll('a[href], button, summary, input, select, textarea, [tabindex]')) {
			if (el.tabIndex > 0) out.push('is out of order: ' + short(el));
			// One of each kind is enough: rows have the same controls.
			const kind = [el.tagName, el.className, el.type, el.parentElement.className].join();
			if (seen.has(kind) || el.tabIndex < 0 || el.disabled || el.type === 'hidden' || !el.checkVisibility({ visibilityProperty: true })) continue;
			seen.add(kind);
			el.focus({ preventScroll: true });
			const style = getComputedStyle(el);
			if (document.activeElement !== el) out.push('takes no focus: ' + short(el));
			else if (style.outlineStyle === 'none' || !parseFloat(style.outlineWidth)) out.push('does not show its focus: ' + short(el));
		}
		document.activeElement?.blur();
		return out;
	})()`)
	require.Empty(p.t, wrong, "by keyboard")
}
