//go:build !bivouac_wheel

package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"image/color"
	"image/png"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
)

// siteOf returns a site of one run.
func siteOf(t *testing.T, path string) *site {
	t.Helper()
	s := newSite(t.Context(), []string{path}, &global{})
	t.Cleanup(s.close)
	if _, err := s.find(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// asked asks for the sheet of a step.
func asked(t *testing.T, s *site, run, step string, more ...string) (*uiSheet, error) {
	t.Helper()
	q := url.Values{"run": {run}, "step": {step}}
	for i := 0; i < len(more); i += 2 {
		q.Set(more[i], more[i+1])
	}
	return s.answerSheet(t.Context(), q)
}

// jobOnPictures makes pictures, and trains on them with the seed 3 until the given step. It returns
// the numbers of the pictures of each step.
func jobOnPictures(t *testing.T, run, dir string, pictures int, steps int64) (seen [][]int) {
	t.Helper()
	err := writePictures(dir, pictures)
	if err == nil {
		seen, err = trainOn(run, dir, steps, 3, 1)
	}
	if err != nil {
		t.Fatal(err)
	}
	return seen
}

// The page shows the samples that data peek --job-step lists, with the pictures that were trained.
func TestSheetOfThePage(t *testing.T) {
	dir := t.TempDir()
	run, pictures := filepath.Join(dir, "run"), filepath.Join(dir, "pictures")
	seen := jobOnPictures(t, run, pictures, 18, 11)
	s := siteOf(t, run)
	for i, want := range seen {
		step := strconv.Itoa(i + 1)
		sheet, err := asked(t, s, run, step)
		if err != nil {
			t.Fatal(err)
		}
		var listed []stepInfo
		text := commanded(t, "data", "peek", run, "--job-step", step, "--json")
		if err := json.Unmarshal([]byte(text), &listed); err != nil {
			t.Fatal(err)
		}
		if sheet.Step != int64(i+1) || sheet.Epoch != listed[0].Epoch || !sheet.Delivered ||
			sheet.Total != int64(len(want)) || sheet.Pictures != len(want) || len(sheet.Samples) != len(want) ||
			len(sheet.Warnings) != 0 {
			t.Fatalf("step %s: %+v", step, sheet)
		}
		for row, d := range sheet.Samples {
			title := fmt.Sprintf("job step %s, rank 0, row %d: sample %d", step, row, listed[0].Ranks[0][row])
			if d.Title != title || d.Lines[0] != listed[0].Names[0][row] {
				t.Errorf("step %s, row %d: %q, %q; want %q, %q", step, row, d.Title, d.Lines[0], title, listed[0].Names[0][row])
			}
			if got := greyOf(t, d.Picture); got != 10*want[row] {
				t.Errorf("step %s, row %d has the grey level %d, want %d", step, row, got, 10*want[row])
			}
		}
	}
	if sheet, err := asked(t, s, run, "12"); err != nil || sheet.Delivered || len(sheet.Samples) == 0 {
		t.Errorf("a step to come: %+v, %v", sheet, err)
	}
	whole, err := asked(t, s, run, "3")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ offset, limit, first, n int }{
		{0, 3, 0, 3}, {3, 64, 3, 1}, {1, 2, 1, 2}, {4, 4, 0, 0}, {9, 1, 0, 0}, {0, 0, 0, 0},
	} {
		part, err := asked(t, s, run, "3", "offset", strconv.Itoa(c.offset), "limit", strconv.Itoa(c.limit))
		if err != nil || len(part.Samples) != c.n || part.Total != 4 || part.Offset != int64(c.offset) {
			t.Errorf("%+v: %+v, %v", c, part, err)
			continue
		}
		for i, d := range part.Samples {
			if want := whole.Samples[c.first+i]; d.Title != want.Title || d.Picture != want.Picture {
				t.Errorf("%+v: sample %d is %s, want %s", c, i, d.Title, want.Title)
			}
		}
	}
}

// greyOf returns the grey level in the middle of a picture of the page.
func greyOf(t *testing.T, address string) int {
	t.Helper()
	text, ok := strings.CutPrefix(address, "data:image/png;base64,")
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil || !ok {
		t.Fatalf("%.40s: %v", address, err)
	}
	p, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if box := p.Bounds(); box.Dx() != sheetSide || box.Dy() != sheetSide {
		t.Errorf("a picture of %v", box)
	}
	return int(color.GrayModel.Convert(p.At(sheetSide/2, sheetSide/2)).(color.Gray).Y)
}

// What cannot be drawn is an error in words: data that are gone, that are others, or that nobody
// knows, and malformed steps.
func TestSheetsThatCannotBeDrawn(t *testing.T) {
	dir := t.TempDir()
	run, pictures := filepath.Join(dir, "run"), filepath.Join(dir, "pictures")
	jobOnPictures(t, run, pictures, 6, 6)
	s := siteOf(t, run)
	for step, more := range map[string][]string{
		"": nil, "0": nil, "-1": nil, "x": nil, "1": {"limit", "257"}, "2": {"offset", "-1"},
	} {
		if _, err := asked(t, s, run, step, more...); !errors.Is(err, errs.Invalid) {
			t.Errorf("step %q %q: %v", step, more, err)
		}
	}
	if _, err := asked(t, s, dir, "1"); !errors.Is(err, errs.NotFound) {
		t.Errorf("a run that nobody named: %v", err)
	}
	if err := os.Rename(pictures, filepath.Join(dir, "elsewhere")); err != nil {
		t.Fatal(err)
	}
	if _, err := asked(t, s, run, "1"); !errors.Is(err, errs.NotFound) || !strings.Contains(err.Error(), "pictures") {
		t.Errorf("the data are gone: %v", err)
	}
	if err := writePictures(pictures, 5); err != nil {
		t.Fatal(err)
	}
	if _, err := asked(t, s, run, "1"); !errors.Is(err, errs.Mismatch) {
		t.Errorf("the data are others: %v", err)
	}

	bare := filepath.Join(t.TempDir(), "bare")
	pagedRun(t, bare)
	if _, err := asked(t, siteOf(t, bare), bare, "1"); err == nil || !strings.Contains(err.Error(), "saved state") {
		t.Errorf("a run without a state of data: %v", err)
	}
	list, err := filepath.Glob(filepath.Join(run, "metadata", "data-*.yaml"))
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	if err := os.Remove(list[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := asked(t, s, run, "1"); !errors.Is(err, errs.NotFound) {
		t.Errorf("the definition is gone: %v", err)
	}
}

// A sheet is drawn by one request at a time. A client that goes away ends its own request, whether
// it draws or waits.
func TestSheetsOneAtATime(t *testing.T) {
	dir := t.TempDir()
	run, pictures := filepath.Join(dir, "run"), filepath.Join(dir, "pictures")
	jobOnPictures(t, run, pictures, 6, 6)
	s := siteOf(t, run)
	leave, err := enter(t.Context(), s.drawing)
	if err != nil {
		t.Fatal(err)
	}
	q := url.Values{"run": {run}, "step": {"1"}}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := s.answerSheet(ctx, q)
		ended <- err
	}()
	select {
	case err := <-ended:
		t.Fatalf("two at once: %v", err)
	default:
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("a client that waits: %v", err)
	}
	leave()
	if _, err := s.answerSheet(ctx, q); !errors.Is(err, context.Canceled) {
		t.Errorf("a client that is gone: %v", err)
	}
	if _, err := s.answerSheet(t.Context(), q); err != nil {
		t.Errorf("the next one: %v", err)
	}
}

// A report has the samples of the last step only if they are asked for, and says why it lacks them.
func TestReportWithSheets(t *testing.T) {
	top := t.TempDir()
	drawn, bare := filepath.Join(top, "runs", "drawn"), filepath.Join(top, "runs", "bare")
	pictures := filepath.Join(top, "pictures")
	jobOnPictures(t, drawn, pictures, 6, 7)
	pagedRun(t, bare)
	for _, with := range []bool{false, true} {
		s := newSite(t.Context(), []string{filepath.Join(top, "runs")}, &global{})
		r, err := s.report(t.Context(), with)
		s.close()
		if err != nil {
			t.Fatal(err)
		}
		if !with {
			if r.Sheets != nil {
				t.Errorf("sheets that nobody asked for: %v", r.Sheets)
			}
			continue
		}
		if got := r.Sheets[drawn]; got.Error != nil || got.Sheet == nil || got.Sheet.Step != 7 || got.Sheet.Pictures == 0 {
			t.Errorf("of the last step: %+v", got)
		}
		if got := r.Sheets[bare]; got.Error == nil || got.Sheet != nil {
			t.Errorf("of a run without a state of data: %+v", got)
		}
	}
	file := filepath.Join(top, "report.html")
	commanded(t, "ui", filepath.Join(top, "runs"), "--export", file, "--sheet")
	page, err := os.ReadFile(file)
	if err != nil || !bytes.Contains(page, []byte("data:image/png;base64,")) {
		t.Errorf("the page has no picture: %v", err)
	}
	var out, failed bytes.Buffer
	if code := run(t.Context(), []string{"ui", drawn, "--sheet"}, &out, &failed); code != exitUsage {
		t.Errorf("--sheet alone: exit status %d: %s", code, failed.String())
	}
}
