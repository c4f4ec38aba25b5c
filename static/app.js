// Bullpen's only script. Every page works without it; it adds the live view, dialogs, ticking, keys and browser time.
(() => {
  'use strict';
  const $ = (sel, root = document) => root.querySelector(sel);
  const $$ = (sel, root = document) => [...root.querySelectorAll(sel)];
  const body = document.body;
  const base = body.dataset.base;
  const topic = body.dataset.topic;
  const status = $('#status');
  const says = $('#says');
  const tick = Number(status.dataset.tick) || 1000;

  /* time ------------------------------------------------------------------ */
  // The server's clock counts: a browser's own may be wrong.
  let skew = 0;
  const now = () => Date.now() + skew;
  const sep = '\u00a0';
  const pad = (n) => String(n).padStart(2, '0');

  // The same words as the server's: seconds up to two minutes, then the leading unit.
  function span(ms) {
    const s = Math.floor(ms / 1000);
    if (s < 120) return s + sep + 's';
    const m = Math.floor(s / 60);
    if (m < 60) return m + sep + 'min';
    const h = Math.floor(m / 60);
    if (h < 48) return h + sep + 'h' + (m % 60 ? ' ' + pad(m % 60) + sep + 'min' : '');
    return Math.floor(h / 24) + sep + 'days';
  }

  function times(root = document) {
    for (const el of $$('time[data-rel]', root)) {
      const d = now() - Date.parse(el.dateTime);
      const text = d < 0 ? 'in ' + span(-d) : span(d) + ' ago';
      if (el.textContent !== text) el.textContent = text;
    }
  }

  // The browser knows where its reader is: its zone comes first in the choice.
  function offerZone(root) {
    const select = $('#in-zone', root);
    const name = new Intl.DateTimeFormat().resolvedOptions().timeZone;
    if (!select || !name) return;
    const known = [...select.options].find((o) => o.value === name);
    const o = known || new Option(name, name);
    if (!o.selected) o.text = name + ', this browser\u2019s';
    o.selected = true;
    select.prepend(o);
  }

  /* age of the data ------------------------------------------------------- */
  let readAt = status.dataset.at ? Date.parse(status.dataset.at) : 0;
  let paused = false;
  let connected = false;
  let aged = 'The figures are up to date.';

  function say(text) { says.textContent = text; }

  function age() {
    const old = readAt ? Math.max(0, now() - readAt) : 0;
    const stale = !readAt || old > 3.5 * tick + 500;
    let text = !readAt ? 'No figures yet' : (stale ? span(old) + ' old' : 'Live, ' + span(old) + ' ago');
    if (paused) text = 'Paused, ' + span(old) + ' old';
    else if (topic && !connected && readAt) text = stale ? span(old) + ' old, reconnecting' : 'Read ' + span(old) + ' ago';
    else if (!topic && readAt) text = 'Read ' + span(old) + ' ago';
    status.textContent = text;
    status.classList.toggle('stale', paused || (stale && !!topic));
    body.classList.toggle('old', stale && !paused && !!topic);
    let told = 'The figures are up to date.';
    if (paused) told = 'The live view is paused.';
    else if (stale && topic) told = 'The figures are old.';
    if (told !== aged) say(aged = told); // only what is new, or it would cover what else was said
    tellLost(stale);
  }

  /* the connection ---------------------------------------------------------- */
  let cut = false; // the stream broke off and has said nothing since
  let ended = false; // so has the session
  const lost = $('#lost');
  const lostNote = { class: 's-delayed', icon: 'h-warn', strong: 'The connection to Bullpen is lost.' };
  const endedNote = {
    class: 's-delayed', icon: 'h-warn', strong: 'You are signed out.', text: 'These figures are no longer renewed.',
    link: { href: location.href, text: 'Sign in' },
  };

  // Said once and not with every second, and where it moves nothing.
  function tellLost(stale) {
    const n = ended ? endedNote : cut && stale && !paused ? lostNote : null;
    if ((n?.strong || '') === ($('strong', lost)?.textContent || '')) return;
    if (n === lostNote) {
      const at = $('#read time')?.textContent;
      n.text = (at ? 'The last good read was at ' + at + '. ' : '') + 'This page tries again every few seconds.';
    }
    lost.replaceChildren(...(n ? [box(n)] : []));
  }

  // A stream does not say why it was refused; its page does. Signing in again must not cost what is ticked or typed.
  async function checkSession() {
    let res;
    try { res = await fetch(location.href, opts('text/html')); } catch { return; }
    if (res.type !== 'opaqueredirect' && res.status !== 401) return;
    if (!$('dialog[open], .tk:checked, main :is(input:not([type=checkbox]), select, textarea):focus')) { location.reload(); return; }
    ended = true;
    age();
  }

  /* live regions ---------------------------------------------------------- */
  const held = new Map();
  let mouse = false; // a finger leaves :hover behind, a mouse does not
  addEventListener('pointermove', (e) => { mouse = e.pointerType === 'mouse'; }, { passive: true });

  // A list stands still under the mouse, while something in it is ticked or typed, and when it was scrolled into.
  function mustHold(region) {
    const list = region.closest('[data-list]');
    if ($('details.menu[open]', region)) return true;
    const focus = document.activeElement;
    if (focus && region.contains(focus) && focus.matches('input:not([type=checkbox]), select, textarea')) return true;
    if (!list) return false;
    if ($('.tk:checked', region)) return true;
    if (mouse && list.matches(':hover')) return true;
    const top = list.getBoundingClientRect().top;
    return top < -40 && list.getBoundingClientRect().bottom > 0;
  }

  const foldKey = (d) => $('summary b', d)?.textContent.replace(/ of \d+$/, '');
  const rowKeys = (root) => $$('[data-row]', root).map((r) => r.dataset.row);

  // What tells a control again after its part of the page was drawn anew.
  const kindOf = (el) => [el.tagName, el.name, el.getAttribute('href'), el.getAttribute('formaction')].join();
  const rowOf = (el) => el.closest('[data-row]')?.dataset.row;
  const placeOf = (el) => ({ el, kind: kindOf(el), row: rowOf(el) });

  function returnTo(place, root = document) {
    const el = place.el.isConnected ? place.el
      : $$('a, button, input, summary', root).find((e) => kindOf(e) === place.kind && rowOf(e) === place.row);
    el?.focus({ preventScroll: true });
    return !!el;
  }

  function apply(region, html) {
    const marks = { ticked: new Set($$('.tk:checked', region).map((t) => t.value)), cur: $('.cur', region)?.dataset.row };
    const focus = document.activeElement;
    const inside = focus && region.contains(focus) ? focus : null;
    const place = inside && placeOf(inside);
    const order = rowKeys(region);
    const before = new Set(order);
    const folds = new Map($$('details.fold', region).map((d) => [foldKey(d), d.open]));
    region.innerHTML = html;
    for (const d of $$('details.fold', region)) if (folds.has(foldKey(d))) d.open = folds.get(foldKey(d));
    for (const t of $$('.tk', region)) t.checked = marks.ticked.has(t.value);
    for (const r of $$('[data-row]', region)) {
      if (r.dataset.row === marks.cur) r.classList.add('cur');
      if (before.size && !before.has(r.dataset.row)) r.classList.add('hit');
    }
    if (place && !returnTo(place, region) && place.row) {
      // Where its row is gone, the one that took its place is the next to act on.
      const left = $$('[data-row]', region);
      focusRow(left.find((r) => r.dataset.row === place.row) || left[Math.min(order.indexOf(place.row), left.length - 1)]);
    }
    wake(region);
  }

  function newer(region, html) {
    const list = region.closest('[data-list]');
    const box = list && $('[data-newer]', list);
    if (!box) return;
    const fresh = new DOMParser().parseFromString(html, 'text/html');
    const have = new Set(rowKeys(region));
    const count = rowKeys(fresh).filter((k) => !have.has(k)).length;
    box.hidden = false;
    const text = count ? count + ' new, show' : 'Changed, show';
    box.classList.toggle('float', list.getBoundingClientRect().top < 0);
    const b = $('[data-show]', box);
    if (b.textContent !== text) b.textContent = text;
  }

  function update(region, html) {
    if (paused) { held.set(region, html); return; }
    const moves = () => {
      const next = rowKeys(new DOMParser().parseFromString(html, 'text/html'));
      return next.join('\n') !== rowKeys(region).join('\n');
    };
    if (mustHold(region) && (!region.closest('[data-list]') || moves())) {
      held.set(region, html);
      newer(region, html);
      return;
    }
    release(region, html);
  }

  function release(region, html) {
    held.delete(region);
    const box = region.closest('[data-list]') && $('[data-newer]', region.closest('[data-list]'));
    if (box) box.hidden = true;
    apply(region, html);
  }

  function releaseHeld(force) {
    for (const [region, html] of [...held]) {
      if (force || !mustHold(region)) release(region, html);
    }
  }

  let source = null;
  let lastID = '';
  let retry = 0;
  let timer = 0;
  // A stream that is alive has something to say by then, if only how old its figures are.
  const silence = 3.5 * tick + 6000;
  let heard = 0;

  function connect() {
    clearTimeout(timer);
    if (!topic || source || document.hidden || !('EventSource' in window)) return;
    let url = base + '/live?topics=' + encodeURIComponent(topic);
    if (lastID) url += '&after=' + encodeURIComponent(lastID);
    heard = Date.now();
    source = new EventSource(url);
    source.addEventListener('region', (e) => {
      const u = JSON.parse(e.data);
      if (u.region === 'title') {
        const t = document.createElement('textarea');
        t.innerHTML = u.html;
        document.title = t.value + ' \u00b7 Bullpen';
        return;
      }
      const region = $$('[data-live]').find((r) => r.dataset.live === u.region);
      if (region) update(region, u.html);
    });
    source.addEventListener('beat', (e) => {
      const b = JSON.parse(e.data);
      if (e.lastEventId) lastID = e.lastEventId;
      connected = true;
      cut = ended = false;
      heard = Date.now();
      retry = 0;
      skew = Date.parse(b.now) - Date.now();
      if (b.at && !paused) readAt = Date.parse(b.at);
      const foot = $('#read');
      if (foot && b.at && !paused) {
        const t = $('time', foot);
        t.dateTime = b.at;
        t.textContent = b.clock;
        $('[data-took]', foot).textContent = b.took;
      }
      age();
    });
    source.addEventListener('error', () => {
      connected = false;
      cut = true;
      // The browser reconnects by itself unless the answer was an error.
      if (source && source.readyState === EventSource.CLOSED) {
        disconnect();
        retry = Math.min(retry + 1, 6);
        timer = setTimeout(connect, 500 * 2 ** retry);
        if (retry > 1) checkSession();
      }
      age();
    });
  }

  function disconnect() {
    clearTimeout(timer);
    if (source) source.close();
    source = null;
    connected = false;
  }

  document.addEventListener('visibilitychange', () => {
    if (document.hidden) disconnect(); else { connect(); times(); }
  });
  addEventListener('pagehide', disconnect);
  addEventListener('pageshow', (e) => { if (e.persisted) location.reload(); });

  setInterval(() => {
    if (source && Date.now() - heard > silence) { cut = true; disconnect(); connect(); }
    age();
    if (!paused) { times(); releaseHeld(false); }
  }, 1000);

  function togglePause() {
    paused = !paused;
    if (!paused) releaseHeld(false);
    age();
  }

  /* ticking ---------------------------------------------------------------- */
  function countTicks(form) {
    const ticks = $$('.tk', form);
    const n = ticks.filter((t) => t.checked).length;
    for (const t of ticks) t.closest('tr')?.classList.toggle('on', t.checked);
    for (const el of $$('[data-n]', form)) el.textContent = n;
    const all = $('.tk-all', form);
    if (all) {
      all.checked = n > 0 && n === ticks.length;
      all.indeterminate = n > 0 && n < ticks.length;
    }
  }

  addEventListener('change', (e) => {
    if (e.target.matches('.tk-all')) for (const t of $$('.tk', e.target.form)) t.checked = e.target.checked;
    if (e.target.matches('.tk, .tk-all')) countTicks(e.target.form);
    const auto = e.target.closest('form[data-auto]');
    if (auto && e.target.matches('select, input[type=checkbox]')) auto.requestSubmit();
  });

  function untick(form) {
    for (const t of $$('.tk', form)) t.checked = false;
    countTicks(form);
    releaseHeld(false);
  }

  /* acts: sent without leaving the page, answered by a notice -------------- */
  const flash = $('#flash');

  // What a notice looks like, as the server writes it; it ends with a link or a button.
  function box(n, button) {
    const el = document.createElement('section');
    el.className = 'note ' + n.class;
    const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
    svg.setAttribute('class', 'i');
    svg.setAttribute('aria-hidden', 'true');
    const use = document.createElementNS('http://www.w3.org/2000/svg', 'use');
    use.setAttribute('href', '#' + n.icon);
    svg.append(use);
    const div = document.createElement('div');
    const p = document.createElement('p');
    const strong = document.createElement('strong');
    strong.textContent = n.strong;
    p.append(strong, ' ' + (n.text || ''));
    div.append(p);
    if (n.details?.length) {
      const ul = document.createElement('ul');
      ul.className = 'small';
      for (const d of n.details) { const li = document.createElement('li'); li.textContent = d; ul.append(li); }
      div.append(ul);
    }
    el.append(svg, div);
    if (n.link) {
      button = document.createElement('a');
      button.className = 'btn';
      button.href = n.link.href;
      button.textContent = n.link.text;
    }
    if (button) {
      const acts = document.createElement('div');
      acts.className = 'acts';
      acts.append(button);
      el.append(acts);
    }
    return el;
  }

  function notice(n) {
    const close = document.createElement('button');
    close.type = 'button';
    close.className = 'btn quiet';
    close.textContent = 'Dismiss';
    const el = box(n, close);
    el.setAttribute('role', 'alert');
    close.addEventListener('click', () => el.remove());
    flash.replaceChildren(el);
  }

  // A list may stand still under the mouse, so the rows that were acted on say so themselves.
  function settle(ids, refusals = []) {
    const left = new Set(refusals.map((r) => r.id));
    for (const r of $$('main tr[data-row]')) {
      if (!ids.includes(r.dataset.row) || left.has(r.dataset.row)) continue;
      r.classList.add('done');
      for (const el of $$('button, input', r)) el.disabled = true;
    }
  }

  const failed = (strong, text) => notice({ class: 's-failed', icon: 'h-crit', strong, text });

  // The values of a form as sent by one of its buttons.
  function formValues(form, button) {
    const data = new FormData(form, button && button.name ? button : undefined);
    return new URLSearchParams([...data].filter(([, v]) => typeof v === 'string'));
  }

  const opts = (accept, values) => ({
    method: values ? 'POST' : 'GET', body: values, credentials: 'same-origin', redirect: 'manual',
    headers: { Accept: accept }, signal: AbortSignal.timeout(15000),
  });

  async function act(url, values, button) {
    if (button) button.setAttribute('aria-disabled', 'true');
    try {
      const res = await fetch(url, opts('application/json', values));
      const out = await res.json();
      if (out.question) { await openDialog(url, values); return; }
      if (out.location && out.operation) { location.assign(base + out.location); return; }
      if (!res.ok && out.title) { failed(out.title.replace(/\.?$/, '.'), out.detail); return; }
      const none = out.refused > 0 && !out.done;
      notice({
        class: none ? 's-failed' : out.refused ? 's-delayed' : 's-completed',
        icon: none ? 'h-crit' : out.refused ? 'h-warn' : 's-completed',
        strong: out.message, text: out.text, details: (out.refusals || []).slice(0, 5).map((r) => r.id + ': ' + r.reason),
      });
      const form = button?.form;
      const row = button?.closest('tr[data-row]');
      if (form && form.isConnected && $('.tk', form)) untick(form);
      releaseHeld(true);
      settle(row ? [row.dataset.row] : values.getAll('id'), out.refusals);
    } catch {
      failed('No answer.', 'Bullpen did not answer; it is not known whether anything was done. Look at the list before trying again.');
    } finally {
      if (button) button.removeAttribute('aria-disabled');
    }
  }

  addEventListener('submit', (e) => {
    const form = e.target;
    const button = e.submitter;
    if (button?.getAttribute('aria-disabled')) { e.preventDefault(); return; }
    if ((button?.formMethod || form.method) !== 'post' || form.hasAttribute('data-plain')) return;
    const url = button?.getAttribute('formaction') || form.getAttribute('action');
    const asks = button?.hasAttribute('data-asks') || form.hasAttribute('data-asks');
    if (form.closest('dialog.over')) {
      e.preventDefault();
      answer(form, url, formValues(form, button));
    } else if (asks) {
      e.preventDefault();
      openDialog(url, formValues(form, button));
    } else if (form.hasAttribute('data-acts') && url) {
      e.preventDefault();
      act(url, formValues(form, button), button);
    }
  });

  /* dialogs: the question's page, shown over this one ----------------------- */
  let opener = null; // where the focus goes back to

  const remember = () => { opener = document.activeElement && placeOf(document.activeElement); };
  const goBack = () => { if (opener) returnTo(opener); };

  function showDialog(html, url) {
    const page = new DOMParser().parseFromString(html, 'text/html');
    const found = $('dialog', page);
    if (!found) { location.assign(url); return; }
    $('dialog.over')?.remove();
    const d = document.createElement('dialog');
    d.className = 'over' + (found.classList.contains('big') ? ' big' : '');
    d.setAttribute('aria-labelledby', found.getAttribute('aria-labelledby') || 'ask');
    d.append(...found.childNodes);
    offerZone(d);
    d.addEventListener('close', () => { d.remove(); goBack(); });
    document.body.append(d);
    d.showModal();
    const wrong = $('[aria-invalid]', d);
    if (wrong) wrong.focus();
  }

  async function openDialog(url, values) {
    if (!$('dialog.over')) remember();
    try {
      const res = await fetch(url, opts('text/html', values));
      if (res.type === 'opaqueredirect') { location.reload(); return; }
      showDialog(await res.text(), url);
    } catch {
      failed('No answer.', 'Bullpen did not answer. Nothing was done.');
    }
  }

  // The answer to a question: done, or the next question, or the form again with what is wrong in it.
  async function answer(form, url, values) {
    const d = form.closest('dialog');
    if (!values.has('confirm')) { await openDialog(url, values); return; }
    try {
      const res = await fetch(url, opts('application/json', values));
      const out = await res.json();
      if (out.question || res.status === 422) { await openDialog(url, values); return; }
      d.close();
      if (!res.ok && out.title) { failed(out.title.replace(/\.?$/, '.'), out.detail); return; }
      if (out.location) { location.assign(base + out.location); return; }
      notice({ class: out.refused ? 's-delayed' : 's-completed', icon: out.refused ? 'h-warn' : 's-completed', strong: out.message,
        text: out.text, details: (out.refusals || []).slice(0, 5).map((r) => r.id + ': ' + r.reason) });
      for (const f of $$('form:has(.tk:checked)')) untick(f);
      releaseHeld(true);
      settle(values.getAll('id'), out.refusals);
    } catch {
      d.close();
      failed('No answer.', 'Bullpen did not answer; it is not known whether anything was done.');
    }
  }

  addEventListener('click', (e) => {
    if (e.defaultPrevented || e.button || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return;
    const el = e.target.closest('a, button');
    const over = e.target.closest('dialog.over');
    if (over && (e.target === over || el?.hasAttribute('data-close'))) { e.preventDefault(); over.close(); return; }
    if (!el) {
      for (const m of $$('details.menu[open]')) if (!m.contains(e.target)) m.open = false;
      return;
    }
    if (el.hasAttribute('data-dialog')) {
      e.preventDefault();
      const m = el.closest('details');
      if (m) { m.open = false; m.querySelector('summary').focus(); }
      openDialog(el.getAttribute('href'));
    } else if (el.hasAttribute('data-untick')) {
      e.preventDefault();
      untick(el.closest('form'));
    } else if (el.hasAttribute('data-show')) {
      const list = el.closest('[data-list]');
      for (const [region, html] of [...held]) if (list.contains(region)) release(region, html);
    } else if (el.hasAttribute('data-help')) {
      help();
    } else if (el.hasAttribute('data-copy')) {
      copy(el.dataset.copy, el);
    } else if (el.hasAttribute('data-copy-of')) {
      copy(document.getElementById(el.dataset.copyOf)?.textContent || '', el);
    }
  });

  // Without https the clipboard of today is out of reach; the old way still works.
  async function copy(text, button) {
    let done = false;
    try {
      await navigator.clipboard.writeText(text);
      done = true;
    } catch {
      const t = document.createElement('textarea');
      t.value = text;
      t.className = 'sr';
      document.body.append(t);
      t.select();
      done = document.execCommand('copy');
      t.remove();
      button.focus();
    }
    say(done ? 'Copied.' : 'This browser does not let a page copy.');
    button.classList.toggle('copied', done);
    setTimeout(() => button.classList.remove('copied'), 1500);
  }

  /* searches: go on where the last answer ended, as long as somebody looks ---- */
  const foundEnough = 100;
  const foundTime = 60000;

  // One look after the other, with as long a rest between them as a look takes; each is a page of its own.
  function goOn(box) {
    const began = Date.now();
    let on = true;
    const stop = () => {
      on = false;
      const b = $('[data-stop]', box);
      if (b) b.hidden = true;
    };
    box.addEventListener('click', (e) => { if (e.target.closest('[data-stop]')) stop(); });
    const step = async () => {
      const link = $('[data-goon]', box);
      if (!on || !link || !box.isConnected) return;
      if ($$('[data-row]', box).length >= foundEnough || Date.now() - began > foundTime) { stop(); return; }
      if (document.hidden || paused) { setTimeout(step, 1000); return; }
      $('[data-stop]', box).hidden = false;
      const start = performance.now();
      try {
        const res = await fetch(link.href, opts('text/html'));
        if (!res.ok) throw new Error(res.statusText);
        addFound(box, new DOMParser().parseFromString(await res.text(), 'text/html'));
        const b = $('[data-stop]', box);
        if (b) b.hidden = !on;
      } catch {
        stop();
        return;
      }
      setTimeout(step, performance.now() - start);
    };
    step();
  }

  function addFound(box, page) {
    const title = $('[data-found-title]', page);
    if (title) {
      $('[data-found-title]').textContent = title.textContent;
      $('[data-found-say]').textContent = $('[data-found-say]', page).textContent;
      document.title = page.title;
    }
    const into = $('[data-found]', box);
    const from = $('[data-found]', page);
    const table = $('table', into);
    if (!table) into.replaceChildren(...from.childNodes);
    else {
      for (const group of $$('tbody[data-group]', from)) {
        const same = $$('tbody[data-group]', table).find((g) => g.dataset.group === group.dataset.group);
        if (!same) table.append(group);
        else {
          same.append(...$$('[data-row]', group));
          $('[data-count]', same).textContent = $$('[data-row]', same).length;
        }
      }
    }
    $('[data-progress]', box).replaceWith($('[data-progress]', page));
    wake(box);
  }

  /* keys --------------------------------------------------------------------- */
  const keyHelp = [
    ['Everywhere', [['?', 'this help'], ['/', 'search, or filter'], ['space', 'pause the live view'], ['esc', 'close, or back'], ['g', 'then a letter: go to a page']]],
    ['Lists', [['j k', 'move'], ['enter', 'open'], ['x', 'tick'], ['a', 'tick all on the page'], ['1 \u2013 8', 'tabs'], ['[ ]', 'pages'], ['e', 'retry what is ticked, or the row'], ['#', 'remove, asks first']]],
  ];

  function help() {
    const pages = $$('[data-key^="g "]').map((a) => [a.dataset.key, a.firstChild.textContent.trim()]);
    const d = document.createElement('dialog');
    d.className = 'over big';
    d.setAttribute('aria-labelledby', 'help-h');
    const box = document.createElement('div');
    box.className = 'dlg keys';
    const h = document.createElement('h1');
    h.id = 'help-h';
    h.textContent = 'Keys';
    box.append(h);
    const cols = document.createElement('div');
    cols.className = 'key-cols';
    for (const [title, rows] of [...keyHelp, ['Pages', pages]]) {
      const sec = document.createElement('section');
      const h2 = document.createElement('h2');
      h2.textContent = title;
      const dl = document.createElement('dl');
      dl.className = 'dl';
      for (const [k, what] of rows) {
        const div = document.createElement('div');
        const dt = document.createElement('dt');
        for (const part of k.split(' ')) { const kbd = document.createElement('kbd'); kbd.textContent = part; dt.append(kbd, ' '); }
        const dd = document.createElement('dd');
        dd.textContent = what;
        div.append(dt, dd);
        dl.append(div);
      }
      sec.append(h2, dl);
      cols.append(sec);
    }
    const foot = document.createElement('footer');
    const b = document.createElement('button');
    b.type = 'button';
    b.className = 'btn';
    b.textContent = 'Close';
    b.addEventListener('click', () => d.close());
    foot.append(b);
    box.append(cols, foot);
    d.append(box);
    remember();
    d.addEventListener('close', () => { d.remove(); goBack(); });
    document.body.append(d);
    d.showModal();
  }

  const rows = () => $$('main tr[data-row]');
  const current = () => $('main tr.cur');

  // A row leads somewhere, or its group does.
  const opens = (row) => row && ($('[data-open]', row) || $('.grp [data-open]', row.parentNode));

  function focusRow(row) {
    if (!row) return;
    current()?.classList.remove('cur');
    row.classList.add('cur');
    const link = $('[data-open]', row);
    if (!link) row.tabIndex = -1;
    (link || row).focus({ preventScroll: true });
  }

  function move(step) {
    const all = rows();
    if (!all.length) return;
    const i = all.indexOf(current());
    const next = all[Math.min(Math.max(i < 0 ? (step > 0 ? 0 : all.length - 1) : i + step, 0), all.length - 1)];
    focusRow(next);
    next.scrollIntoView({ block: 'nearest' });
  }

  function press(el) {
    if (!el || el.disabled) return false;
    el.click();
    return true;
  }

  // What shows a key is pressed by it.
  const pressKey = (key) => press($$('[data-key]').find((el) => el.dataset.key === key));

  // e and # act on what is ticked, else on the row, else on the page's own button.
  function pressAct(key, verb) {
    const bulk = $('form:has(.tk:checked) .bulk');
    const scope = bulk || current();
    if (!scope) return pressKey(key);
    const where = (el) => new URL(el.getAttribute('formaction') || el.form?.getAttribute('action') || el.href, location.href).pathname;
    const acts = (root) => $$('button[type=submit], a[data-dialog]', root).find((el) => where(el).endsWith('/' + verb));
    const found = acts(scope);
    const t = !found && !bulk && verb === 'remove' && $('.tk', scope);
    if (!t) return press(found);
    t.checked = true;
    countTicks(t.form);
    return press(acts($('.bulk', t.form)));
  }

  let prefix = 0;

  addEventListener('keydown', (e) => {
    if (e.defaultPrevented || e.metaKey || e.ctrlKey || e.altKey) return;
    const open = $('dialog[open]:modal');
    const typing = e.target.matches('input:not([type=checkbox]), textarea, select');
    if (e.key === 'Escape') {
      if (open) return;
      const m = $('details.menu[open]');
      if (m) { m.open = false; $('summary', m).focus(); } else if (typing) e.target.blur(); else {
        const up = $$('.crumbs a').pop();
        if (up) up.click();
      }
      return;
    }
    if (open || typing) return;
    if (prefix && Date.now() - prefix < 1500) {
      prefix = 0;
      if (pressKey('g ' + e.key)) e.preventDefault();
      return;
    }
    // Enter and space belong to what has the focus, as far as it uses them.
    const onButton = e.target.matches('button, summary, input');
    switch (e.key) {
      case 'g': prefix = Date.now(); return;
      case '?': help(); break;
      case '/': ($('#find') || $('main input[type=search]'))?.focus(); break;
      case 'j': move(1); break;
      case 'k': move(-1); break;
      case 'x': { const t = current() && $('.tk', current()); if (t) t.click(); break; }
      case 'a': { const all = $('.tk-all'); if (all) all.click(); break; }
      case 'Enter': if (onButton || e.target.matches('a') || !press(opens(current()))) return; break;
      case 'e': if (!pressAct('e', 'retry')) return; break;
      case '#': if (!pressAct('#', 'remove')) return; break;
      case ' ': if (onButton || !topic) return; togglePause(); break;
      default: if (!pressKey(e.key)) return;
    }
    e.preventDefault();
  });

  addEventListener('focusin', (e) => {
    const row = e.target.closest('main tr[data-row]');
    if (row && !row.classList.contains('cur')) {
      current()?.classList.remove('cur');
      row.classList.add('cur');
    }
  });

  /* start ------------------------------------------------------------------ */
  function wake(root) {
    for (const el of $$('[data-noscript]', root)) el.hidden = true;
    for (const el of $$('[data-script]', root)) { el.disabled = false; el.hidden = false; }
    for (const f of $$('form', root)) if ($('.tk', f)) countTicks(f);
    times(root);
  }

  $('#keys').hidden = false;
  wake(document);
  for (const box of $$('[data-scan]')) goOn(box);
  offerZone(document);
  age();
  connect();
})();
