package ui

import (
	"bytes"
	"flag"
	"fmt"
	"image"
	"image/png"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

var update = flag.Bool("update", false, "draw docs/guide/looking.png anew")

// few are the runs of the tests that need no fleet.
func few() []fact {
	all := facts()
	return []fact{all[5], all[61], all[77]}
}

// openRun opens the run run-061, and the leaves of its step 100.
func openRun(t testing.TB, address, top, scheme string, width int64) *page {
	t.Helper()
	run := url.Values{"run": {filepath.Join(top, "run-061")}, "step": {"100"}}
	p := open(t, address+"#"+run.Encode(), scheme, width, 900)
	p.until("document.querySelectorAll('#leaves .leaf').length === 2 && document.querySelector('#curves path') && " +
		"document.querySelector('#timeline svg')")
	return p
}

// TestLooks opens the list and a run in light and dark, narrow and wide: the picture has the
// colours that were asked for, text has contrast, nothing is wider than the window, the console is
// empty, and nothing is asked for from elsewhere.
func TestLooks(t *testing.T) {
	chromium(t)
	top := makeRuns(t, few())
	address := serve(t, top)
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int64{360, 1200} {
			t.Run(fmt.Sprint(scheme, " ", width), func(t *testing.T) {
				p := open(t, address, scheme, width, 900)
				p.listed("3")
				p.looks(scheme, width)
				p.quiet(address)

				p = openRun(t, address, top, scheme, width)
				p.histogram()
				p.compare()
				p.looks(scheme, width)
				p.quiet(address)
				if *update && scheme == "light" && width == 1200 {
					p.draw("../../docs/guide/looking.png")
				}
			})
		}
	}
}

// histogram asks for the histogram of a leaf, and waits for it.
func (p *page) histogram() {
	p.t.Helper()
	eval[bool](p, "document.querySelector('#leaves button').click() || true")
	p.until("document.querySelector('#leaves figure rect')")
	got := eval[string](p, "document.querySelector('#leaves figcaption').textContent")
	if !strings.HasPrefix(got, "3 elements") && !strings.HasPrefix(got, "32 elements") {
		p.t.Errorf("the histogram says %q", got)
	}
}

// compare asks what changed, and waits for the answer.
func (p *page) compare() {
	p.t.Helper()
	eval[bool](p, "document.querySelector('#step form button').click() || true")
	p.until("document.getElementById('changes').querySelector('table')")
	if got := p.text("changes"); !strings.Contains(got, "1 of 2 leaves differ between step 50 and step 100.") ||
		!strings.Contains(got, "layer.kernel") || !strings.Contains(got, "50") {
		p.t.Errorf("the changes are %q", got)
	}
}

// looks checks the picture and the contrast.
func (p *page) looks(scheme string, width int64) {
	p.t.Helper()
	if got := eval[int64](p, "document.documentElement.scrollWidth"); got > width {
		p.t.Errorf("the page is %d wide in a window of %d", got, width)
	}
	b, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		p.t.Fatal(err)
	}
	picture, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		p.t.Fatal(err)
	}
	colours, mean := seen(picture)
	if colours < 20 {
		p.t.Errorf("the picture has %d colours", colours)
	}
	if bright := mean > 0.5; bright != (scheme == "light") {
		p.t.Errorf("the picture is %.2f bright with %s colours", mean, scheme)
	}
	for _, bad := range eval[[]string](p, contrasts) {
		p.t.Errorf("too little contrast: %s", bad)
	}
}

// seen returns how many colours a picture has, and how bright it is from 0 to 1.
func seen(picture image.Image) (colours int, mean float64) {
	found := map[[3]uint32]bool{}
	box := picture.Bounds()
	for y := box.Min.Y; y < box.Max.Y; y++ {
		for x := box.Min.X; x < box.Max.X; x++ {
			r, g, b, _ := picture.At(x, y).RGBA()
			found[[3]uint32{r, g, b}] = true
			mean += float64(r+g+b) / 3 / 0xffff
		}
	}
	return len(found), mean / float64(box.Dx()*box.Dy())
}

// contrasts lists texts whose contrast is below 4.5, and lines of drawings below 3, as WCAG 2 asks
// for. A text lies on the first opaque background above it.
const contrasts = `(() => {
	const parts = c => { const n = c.match(/[\d.]+/g).map(Number); return n.length < 4 ? [...n, 1] : n; };
	const light = c => parts(c).slice(0, 3).map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
		.reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
	const behind = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if (parts(c)[3] === 1) return c; }
		return 'rgb(255, 255, 255)'; };
	const ratio = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
	const out = [];
	let texts = 0;
	for (const e of document.querySelectorAll('body *')) {
		const style = getComputedStyle(e), shown = e.getClientRects().length > 0;
		const own = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
		const inDrawing = e instanceof SVGElement;
		if (!shown || e.closest('title, script, style')) continue;
		if (own || e.matches('input, select')) {
			const got = ratio(inDrawing ? style.fill : style.color, behind(e));
			texts++;
			if (!(got >= 4.5)) out.push(got.toFixed(2) + ' ' + e.tagName + ' ' + e.textContent.slice(0, 40));
		} else if (inDrawing && e.matches('.curve, .kill, .edge') && !e.matches('.faint')) {
			const got = ratio(style.stroke, behind(e));
			if (!(got >= 3)) out.push(got.toFixed(2) + ' line ' + e.getAttribute('class'));
		} else if (inDrawing && e.matches('.did, .resume, .save, .failed, .bar')) {
			const got = ratio(style.fill, behind(e));
			if (!(got >= 3)) out.push(got.toFixed(2) + ' shape ' + e.getAttribute('class'));
		}
	}
	if (texts < 20) out.push('only ' + texts + ' texts were found');
	return out;
})()`

// draw writes the upper part of the page for the guide.
func (p *page) draw(file string) {
	p.t.Helper()
	p.do(chromedp.EmulateViewport(960, 1080))
	// The names of temporary directories do not belong into a picture.
	eval[bool](p, `(() => {
		const words = document.getElementById('words');
		document.getElementById('run-title').textContent = 'runs/digits';
		words.textContent = words.textContent.replace(/^.*: step/, 'runs/digits: step').replace(/^data .*\n/m, '');
		document.activeElement.blur();
		scrollTo(0, 0);
		return true;
	})()`)
	b, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(file, b, 0o666); err != nil {
		p.t.Fatal(err)
	}
}

// TestHearing checks that what TestLooks forbids would be noticed.
func TestHearing(t *testing.T) {
	chromium(t)
	p := open(t, serve(t, makeRuns(t, few()[:1])), "light", 800, 600)
	p.listed("1")
	p.hears("console.error('no')")
	// The policy of the page refuses a request to elsewhere, code in an attribute, and a style in one.
	for _, bad := range []string{"fetch('http://127.0.0.1:9/').catch(() => 0)",
		"document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=alert(1)>')",
		"document.body.insertAdjacentHTML('beforeend', '<p style=\"color: red\">')"} {
		p.hears(bad)
	}
	eval[bool](p, "document.body.append(h('p', {style: 'color: #777777; background: #888888'}, 'x')), true")
	p.do(chromedp.EmulateViewport(800, 600))
	if got := eval[string](p, "getComputedStyle(document.body.lastChild).color"); got == "rgb(119, 119, 119)" {
		t.Error("a style in an attribute counts")
	}
	eval[bool](p, "document.body.lastChild.style.color = '#cccccc', true")
	if bad := eval[[]string](p, contrasts); len(bad) != 1 {
		t.Errorf("text without contrast: %q", bad)
	}
}

// hears runs code, and waits until the console says something.
func (p *page) hears(code string) {
	p.t.Helper()
	count := func() int { p.mu.Lock(); defer p.mu.Unlock(); return len(p.said) }
	before := count()
	eval[bool](p, "("+code+", true)")
	for end := time.Now().Add(patience); count() == before; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			p.t.Fatalf("the console says nothing of %s", code)
		}
	}
}

// TestKeyboard goes through the page with the key Tab: each element that can be used is reached, in
// the order of the page, and shows it.
func TestKeyboard(t *testing.T) {
	chromium(t)
	top := makeRuns(t, few())
	address := serve(t, top)
	list := open(t, address, "light", 1200, 900)
	list.listed("3")
	list.tabs()
	run := openRun(t, address, top, "light", 1200)
	run.compare()
	run.tabs()

	// A run is opened, and left, without a mouse.
	eval[bool](list, "("+linkTo("run-077")+".focus(), true)")
	list.do(chromedp.KeyEvent(kb.Enter))
	list.until("document.getElementById('words') && document.getElementById('words').textContent.includes('run-077')")
	if got := eval[string](list, "document.activeElement.id"); got != "run-title" {
		t.Errorf("the focus is on %q after a run was opened", got)
	}
	list.do(chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Enter))
	list.listed("3")
	list.until("!document.getElementById('runs').hidden")
}

// tabs presses Tab until all was reached.
func (p *page) tabs() {
	p.t.Helper()
	eval[bool](p, "(document.getElementById('live').checked = false, scrollTo(0, 0), document.activeElement.blur(), true)")
	wanted := eval[[]string](p, `[...document.querySelectorAll('a[href], button, input, select, summary, [tabindex="0"]')]
		.filter(e => !e.disabled && e.checkVisibility()).map((e, i) => { e.dataset.place = i;
			return i + ' ' + e.tagName + ' ' + (e.id || e.textContent.slice(0, 30)); })`)
	if len(wanted) < 8 {
		p.t.Fatalf("only %q can be used", wanted)
	}
	// The focus may stand where it was lost: the first Tab goes on from there. So go around.
	got := map[string]bool{}
	var order []int
	for range 2*len(wanted) + 4 {
		p.do(chromedp.KeyEvent(kb.Tab))
		at := eval[string](p, `(e => e && e.dataset.place !== undefined ? e.dataset.place + ' ' +
			(getComputedStyle(e).outlineStyle !== 'none') : '')(document.activeElement)`)
		if at == "" {
			continue
		}
		place, visible, _ := strings.Cut(at, " ")
		if visible != "true" {
			p.t.Errorf("nobody sees the focus on %s", place)
		}
		got[place] = true
		n, err := strconv.Atoi(place)
		if err != nil {
			p.t.Fatal(err)
		}
		order = append(order, n)
	}
	for i, w := range wanted {
		if !got[strconv.Itoa(i)] {
			p.t.Errorf("Tab does not reach %s", w)
		}
	}
	jumps := 0
	for i := 1; i < len(order); i++ {
		if order[i] != order[i-1]+1 {
			jumps++
		}
	}
	if jumps > 3 { // at the end of each round
		p.t.Errorf("the order of Tab is %d", order)
	}
}

// TestToken opens a server that wants a token: with the address that it prints, and without it.
func TestToken(t *testing.T) {
	chromium(t)
	top := makeRuns(t, few()[:1])
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("0123456789abcdef"), 0o600); err != nil {
		t.Fatal(err)
	}
	address := serve(t, top, "--token-file", file)
	p := open(t, address, "light", 800, 600)
	p.listed("1")
	if got := eval[string](p, "location.href"); strings.Contains(got, "0123456789abcdef") {
		t.Errorf("the token stays in the address: %s", got)
	}
	p.do(chromedp.Reload())
	p.listed("1")
	p.quiet(address)

	bare, _, _ := strings.Cut(address, "#")
	p = open(t, bare, "light", 800, 600)
	p.until("!document.getElementById('token-form').hidden")
	if got := p.text("runs-table"); strings.Contains(got, "run-") {
		t.Errorf("the page shows %q without the token", got)
	}
	eval[bool](p, `(document.getElementById('token').value = '0123456789abcdef',
		document.querySelector('#token-form button').click(), true)`)
	p.listed("1")
	if !eval[bool](p, "document.getElementById('token-form').hidden") {
		t.Error("the page still asks for the token")
	}
}

// TestReport opens a page from a file: it has the list, a run and its leaves, and asks for nothing.
func TestReport(t *testing.T) {
	chromium(t)
	list := few()
	top := makeRuns(t, list)
	file := filepath.Join(t.TempDir(), "report.html")
	bivouac(t, "ui", top, "--export", file)
	address := (&url.URL{Scheme: "file", Path: filepath.ToSlash(file)}).String()
	p := open(t, address, "dark", 800, 900)
	p.listed("3")
	p.looks("dark", 800)
	p.choose("search", "paper", "1")
	p.choose("search", "", "3")
	p.quiet(address)
	p = openRun(t, address, top, "dark", 800)
	if got := p.text("words"); !strings.Contains(got, "(23 superseded)") {
		t.Errorf("the words are %q", got)
	}
	p.looks("dark", 800)
	p.quiet(address)
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, asked := range p.asked {
		if u, _ := url.Parse(asked); u.Path != filepath.ToSlash(file) && u.Scheme != "data" {
			t.Errorf("the report asks for %s", asked)
		}
	}
}
