package documents_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var record = flag.Bool("record", false, "write the documents that are missing")

// root is where the documents lie.
const root = "../../testdata/documents"

// specimen is one document: a file or a directory, and what it gives.
type specimen struct {
	name  string                                     // of the document, below root
	write func(t *testing.T, path string)            // makes it
	read  func(t *testing.T, path string) (s string) // reads, resumes or runs it; path is a copy, to be changed at will
}

// specimens are all documents. Names are for ever.
func specimens() []specimen {
	return slices.Concat(loaderSpecimens(), orderSpecimens(), nodeSpecimens(), compatSpecimens(), pipelineSpecimens(),
		dynamicSpecimens(), checkpointSpecimens(), trainingSpecimens(), jobSpecimens(), journalSpecimens(), textSpecimens())
}

// A document gives for ever what it gave when it was written.
func TestDocumentsAreReadAsWhenTheyWereWritten(t *testing.T) {
	known := map[string]bool{"README.md": true}
	base, err := filepath.Abs(root) // some specimens change the working directory
	check(t, err)
	for _, s := range specimens() {
		if known[s.name] {
			t.Errorf("%s: the name twice", s.name)
		}
		known[s.name], known[s.name+".want"] = true, true
		t.Run(s.name, func(t *testing.T) {
			path := filepath.Join(base, filepath.FromSlash(s.name))
			if _, err := os.Stat(path); *record && errors.Is(err, os.ErrNotExist) {
				check(t, os.MkdirAll(filepath.Dir(path), 0o777))
				s.write(t, path)
				check(t, os.WriteFile(path+".want", []byte(s.read(t, duplicate(t, path))), 0o666))
			}
			want, err := os.ReadFile(path + ".want")
			check(t, err)
			if diff := cmp.Diff(string(want), s.read(t, duplicate(t, path))); diff != "" {
				t.Errorf("another result than when the document was written (-then +now):\n%s", diff)
			}
		})
	}
	// And no document lies there that nothing reads.
	check(t, filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, path)
		name = filepath.ToSlash(name)
		switch {
		case known[name] && d.IsDir():
			return filepath.SkipDir
		case !known[name] && !d.IsDir():
			t.Errorf("%s is read by no test", name)
		}
		return nil
	}))
}

// duplicate copies a document to a directory of its own, under its name.
func duplicate(t *testing.T, path string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), filepath.Base(path))
	info, err := os.Stat(path)
	check(t, err)
	if info.IsDir() {
		check(t, os.CopyFS(to, os.DirFS(path)))
	} else {
		check(t, os.WriteFile(to, readFile(t, path), 0o666))
	}
	return to
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	check(t, err)
	return b
}

// run is a stream with a state, whose batches are texts.
type run interface {
	Next(ctx context.Context) (string, error)
	AppendState(dst []byte) ([]byte, error)
	SetState(b []byte) error
	Close() error
}

// texts is a stream whose batches are turned into texts.
type texts[B any] struct {
	stream interface {
		Next(ctx context.Context) (B, error)
		AppendState(dst []byte) ([]byte, error)
		SetState(b []byte) error
		Close() error
	}
	text func(B) string
}

func (x texts[B]) Next(ctx context.Context) (string, error) {
	b, err := x.stream.Next(ctx)
	if err != nil {
		return "", err
	}
	return x.text(b), nil
}

func (x texts[B]) AppendState(dst []byte) ([]byte, error) { return x.stream.AppendState(dst) }
func (x texts[B]) SetState(b []byte) error                { return x.stream.SetState(b) }
func (x texts[B]) Close() error                           { return x.stream.Close() }

// take returns the next n results of a stream, a line each.
func take(t *testing.T, s run, n int) string {
	t.Helper()
	var b strings.Builder
	for range n {
		text, err := s.Next(t.Context())
		switch {
		case errors.Is(err, io.EOF):
			text = "end of the epoch"
		case err != nil:
			text = "an error" // whose words may change
		}
		fmt.Fprintln(&b, text)
	}
	return b.String()
}

// resumed is the specimen of a stream's state: taken after some results, it gives the
// ones that follow. The writer goes on to make sure of them, unless what it gives
// depends on time.
func resumed(name string, writer, reader func(t *testing.T) run, before, after int) specimen {
	return specimen{
		name: name,
		write: func(t *testing.T, path string) {
			s := writer(t)
			defer s.Close()
			take(t, s, before)
			b, err := s.AppendState(nil)
			check(t, err)
			check(t, os.WriteFile(path, b, 0o666))
		},
		read: func(t *testing.T, path string) string {
			s := reader(t)
			defer s.Close()
			if err := s.SetState(readFile(t, path)); err != nil {
				return "refused: " + err.Error() + "\n"
			}
			return take(t, s, after)
		},
	}
}
