// Package nemo reads manifests of speech data sets in NeMo's format: JSON objects, one a line, each
// of which names an audio file, its duration and its text.
package nemo

import (
	"fmt"
	"io"
	"math"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/internal/jsonstream"
)

// Entry is an object of a manifest. Its bytes are valid until the function that got it returns.
type Entry struct {
	Path     []byte  // audio_filepath
	Text     []byte  // may be empty
	Duration float64 // in seconds; negative if the entry has no duration
	Offset   float64 // in seconds
}

// Parse calls add for each entry. An error names the entry, counted from 1, and its field. An error
// of add ends it.
func Parse(r io.Reader, add func(Entry) error) error {
	s := jsonstream.New(r)
	p := parser{s: s}
	for p.number = 1; ; p.number++ {
		if s.Kind() == jsonstream.None {
			return errs.Wrap("nemo", p.name(), s.End())
		}
		if err := p.entry(); err != nil {
			return err
		}
		if err := add(p.e); err != nil {
			return err
		}
	}
}

type parser struct {
	s          *jsonstream.Scanner
	number     int
	e          Entry
	path, text []byte // memory of the entry
}

func (p *parser) name() string { return fmt.Sprintf("entry %d", p.number) }

// bad returns the error of a field.
func (p *parser) bad(field, want, got string) error {
	subject := p.name()
	if field != "" {
		subject += ", field " + field
	}
	return &errs.Error{Kind: errs.Invalid, Op: "nemo", Subject: subject, Want: want, Got: got,
		Remedy: "correct the manifest"}
}

// entry reads an object.
func (p *parser) entry() error {
	if k := p.s.Kind(); k != jsonstream.Object {
		return p.bad("", "an object", k.String())
	}
	p.e = Entry{Duration: -1}
	named := false
	err := p.s.Object(func(key []byte) (err error) {
		switch string(key) {
		case "audio_filepath":
			p.path, err = p.string("audio_filepath", p.path)
			p.e.Path, named = p.path, true
		case "text":
			p.text, err = p.string("text", p.text)
			p.e.Text = p.text
		case "duration":
			p.e.Duration, err = p.seconds("duration")
		case "offset":
			p.e.Offset, err = p.seconds("offset")
		}
		return err
	})
	if err != nil {
		if errs.KindOf(err) == errs.Corrupt {
			err = errs.Wrap("nemo", p.name(), err)
		}
		return err
	}
	if !named || len(p.e.Path) == 0 {
		return p.bad("audio_filepath", "the path of an audio file", "none")
	}
	return nil
}

// string reads a string into memory.
func (p *parser) string(field string, memory []byte) ([]byte, error) {
	if k := p.s.Kind(); k != jsonstream.String {
		return memory, p.bad(field, "a string", k.String())
	}
	b, err := p.s.String()
	return append(memory[:0], b...), err
}

// seconds reads a time.
func (p *parser) seconds(field string) (float64, error) {
	if k := p.s.Kind(); k != jsonstream.Number {
		return 0, p.bad(field, "a number of seconds", k.String())
	}
	v, err := p.s.Float()
	if err == nil && (v < 0 || math.IsInf(v, 0)) {
		err = p.bad(field, "at least 0 seconds", fmt.Sprint(v))
	}
	return v, err
}
