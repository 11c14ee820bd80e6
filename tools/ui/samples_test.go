package ui

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	training "github.com/bivouac-ml/bivouac"
	"github.com/bivouac-ml/bivouac/journal"
	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/loader/dataset"
	"github.com/bivouac-ml/bivouac/reader"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/stream"
)

// writeSamples writes pictures into class folders.
func writeSamples(t testing.TB, dir string, n int) {
	t.Helper()
	for i := range n {
		p := image.NewGray(image.Rect(0, 0, 8, 8))
		for k := range p.Pix {
			p.Pix[k] = uint8(k * i)
		}
		var b bytes.Buffer
		if err := png.Encode(&b, p); err != nil {
			t.Fatal(err)
		}
		at := filepath.Join(dir, fmt.Sprint("class", i%2), fmt.Sprintf("%03d.png", i))
		if err := os.MkdirAll(filepath.Dir(at), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// trainOn trains a job for 6 steps on batches of 70 samples.
func trainOn(t testing.TB, run, data string) {
	t.Helper()
	ctx := t.Context()
	d, err := dataset.Open(ctx, data, dataset.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close() //nolint:errcheck // only read
	l, err := loader.New(d, loader.Options[reader.Fields, int]{Shuffle: true, Seed: 3, BatchSize: 70,
		Collate: func(batch []reader.Fields) (int, error) { return len(batch), nil }})
	if err != nil {
		t.Fatal(err)
	}
	state := map[string]any{"w": []float32{0}}
	job, err := training.Open(ctx, run, l, training.Options{State: state, Steps: 6, SaveEvery: 3,
		Grace: training.Never, LogEvery: training.Never})
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range job.Steps(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		job.Scalar("loss", 1)
	}
	if err := job.Close(); err != nil {
		t.Fatal(err)
	}
}

// tell puts a document with operators beside the journal, as a job does that is running or was
// killed.
func tell(t testing.TB, run string, at time.Time, step int64, running bool) {
	t.Helper()
	st, err := local.Open(filepath.Dir(run), nil)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Base(run)
	if running {
		now := func() time.Time { return at }
		w := journal.New(st, name, journal.Start{From: 6}, &journal.WriterOptions{Every: -1, Now: now})
		w.Begin()
		if err := w.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	j, err := journal.Open(t.Context(), st, name)
	if err != nil {
		t.Fatal(err)
	}
	list := j.Attempts()
	o := journal.Operators{Attempt: list[len(list)-1].ID, Time: at, Step: step, World: 1, Profile: stream.Profile{
		Batches: step, Samples: 70 * step, Queue: 1, Depth: 3, ReadAhead: 1 << 20, ReadAheadPeak: 2 << 20, Timed: true,
		Waited: 2_500_000_000, Starved: 4, Measured: true, Operators: []stream.Operator{
			{Name: "photos", Kind: "readers.file", Reader: true, Samples: 100, Time: 5_000_000, Largest: 4096, Held: 8192},
			{Name: "decoders.image", Kind: "decoders.image", Inputs: []string{"photos"}, Samples: 100, Time: 80_000_000, Held: 1 << 20},
			{Name: "random.uniform", Kind: "random.uniform", Samples: 100, Time: 1_000_000},
			{Name: "a_name_that_is_much_too_long_for_a_narrow_window", Kind: "brightness_contrast", Output: true, Samples: 100,
				Inputs: []string{"decoders.image", "random.uniform"}, Time: 14_000_000, Largest: 3 << 20, Held: 9 << 20}}}}
	if err := journal.PutOperators(t.Context(), st, name, o); err != nil {
		t.Fatal(err)
	}
}

// sampled makes a run on pictures, whose address it returns.
func sampled(t testing.TB) (run, pictures string) {
	t.Helper()
	top := t.TempDir()
	run, pictures = filepath.Join(top, "runs", "run"), filepath.Join(top, "pictures")
	writeSamples(t, pictures, 140) // two batches an epoch
	trainOn(t, run, pictures)
	return run, pictures
}

// atRun opens a run that has operators.
func atRun(t testing.TB, address, run, scheme string, width int64) *page {
	t.Helper()
	p := open(t, address+"#"+url.Values{"run": {run}}.Encode(), scheme, width, 900)
	p.until("document.querySelector('#timeline svg') && document.querySelector('#operators svg') && " +
		"document.querySelector('#sheet-step').value")
	return p
}

const drawn = "document.querySelectorAll('#sheet img').length"

// TestSamplesAndOperators draws a sheet and the graph in light and dark, narrow and wide.
func TestSamplesAndOperators(t *testing.T) {
	chromium(t)
	run, _ := sampled(t)
	tell(t, run, time.Now(), 6, false)
	address := serve(t, filepath.Dir(run))
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int64{360, 1200} {
			t.Run(fmt.Sprint(scheme, " ", width), func(t *testing.T) {
				p := atRun(t, address, run, scheme, width)
				eval[bool](p, "document.getElementById('operators-all').click() || "+
					"document.getElementById('sheet-draw').click() || true")
				p.until(drawn + " === 64")
				p.looks(scheme, width)
				p.quiet(address)
			})
		}
	}
}

// TestSheetWithoutMouse draws the samples of a step with the keyboard alone, reads what they are by
// their names, and asks for what cannot be drawn.
func TestSheetWithoutMouse(t *testing.T) {
	chromium(t)
	run, pictures := sampled(t)
	tell(t, run, time.Now(), 6, false)
	address := serve(t, filepath.Dir(run))
	p := atRun(t, address, run, "light", 1200)
	if got := eval[string](p, "document.getElementById('sheet-step').value"); got != "6" {
		t.Errorf("the step is %q, want the last one", got)
	}
	eval[bool](p, "(e => { e.focus(); e.select(); return true; })(document.getElementById('sheet-step'))")
	p.do(chromedp.KeyEvent("2"), chromedp.KeyEvent(kb.Enter))
	p.until(drawn + " === 64 && document.getElementById('sheet-about').textContent.includes('64 of 70 samples')")
	names := eval[[]string](p, "[...document.querySelectorAll('#sheet img')].map(e => e.alt)")
	listed := string(bivouac(t, "data", "peek", run, "--job-step", "2"))
	for i, alt := range names {
		_, name, ok := strings.Cut(alt, fmt.Sprintf("job step 2, rank 0, row %d: sample ", i))
		_, name, _ = strings.Cut(name, ", ")
		if !ok || !strings.HasSuffix(name, ".png") || !strings.Contains(listed, name) {
			t.Fatalf("picture %d is named %q; data peek lists\n%s", i, alt, listed)
		}
	}
	if !eval[bool](p, "[...document.querySelectorAll('#sheet img')].every(e => e.complete && e.naturalWidth === 128)") {
		t.Error("a picture is not shown")
	}
	eval[bool](p, "(document.getElementById('sheet-more').focus(), true)")
	p.do(chromedp.KeyEvent(kb.Enter))
	p.until(drawn + " === 70 && document.getElementById('sheet-more').hidden")
	p.quiet(address)

	if err := os.Rename(pictures, pictures+".moved"); err != nil {
		t.Fatal(err)
	}
	p.do(chromedp.KeyEvent(kb.Tab))
	eval[bool](p, "document.getElementById('sheet-draw').click() || true")
	p.until("document.getElementById('problem').textContent.includes('pictures')")
	if got := p.text("problem"); !strings.Contains(got, "not found") || !strings.Contains(got, "--data") {
		t.Errorf("the page says %q", got)
	}
	if eval[bool](p, "document.getElementById('sheet-draw').disabled") || p.text("sheet-about") != "" {
		t.Error("the form stays shut")
	}
}

// TestOperatorsLive watches what a running job tells of its operators, and what is left of it.
func TestOperatorsLive(t *testing.T) {
	chromium(t)
	run, _ := sampled(t)
	address := serve(t, filepath.Dir(run))
	p := open(t, address+"#"+url.Values{"run": {run}}.Encode(), "light", 1200, 900)
	p.until("document.getElementById('operators').textContent.includes('has recorded no operators')")
	tell(t, run, time.Now(), 7, true)
	p.until("document.querySelector('#operators svg')")
	p.until("document.getElementById('operators-state').textContent.startsWith('Live: told by attempt 2, at step 7')")
	if got := p.text("operators"); !strings.Contains(got, "1 of 3 batches are in the making or ready") ||
		!strings.Contains(got, "The trainer waited 2.500 s") || !strings.Contains(got, "0.8 ms a sample, 80.0 %") {
		t.Errorf("the page says %q", got)
	}
	tell(t, run, time.Now(), 9, false)
	p.until("document.getElementById('operators-state').textContent.includes('at step 9')")
	tell(t, run, time.Now().Add(-time.Hour), 9, false)
	p.until("!document.getElementById('operators-state').textContent.startsWith('Live')")
	p.tabs()
}

// TestReportWithSheet opens pages in files: with the samples of the last step, and with the words
// that say why the file lacks them.
func TestReportWithSheet(t *testing.T) {
	chromium(t)
	run, _ := sampled(t)
	tell(t, run, time.Now(), 6, false)
	for _, with := range []bool{true, false} {
		file := filepath.Join(t.TempDir(), "report.html")
		args := []string{"ui", run, "--export", file}
		if with {
			args = append(args, "--sheet")
		}
		bivouac(t, args...)
		address := (&url.URL{Scheme: "file", Path: filepath.ToSlash(file)}).String()
		p := open(t, address+"#"+url.Values{"run": {run}}.Encode(), "dark", 800, 900)
		p.until("document.querySelector('#operators svg') && document.getElementById('sheet-about').textContent")
		got := p.text("sheet-about")
		if with != strings.HasPrefix(got, "Step 6,") || !with && !strings.Contains(got, "--sheet") {
			t.Errorf("with a sheet %v: the page says %q", with, got)
		}
		if got := eval[int](p, drawn); with != (got == 64) || !with && got > 0 {
			t.Errorf("with a sheet %v: %d pictures", with, got)
		}
		p.looks("dark", 800)
		p.quiet(address)
	}
}
