package recording

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
)

// Entry is a decoded Line.
type Entry struct {
	Step      int64 // valid if HasStep
	HasStep   bool
	Epoch     int64
	IDs       []int64
	Loss      []string
	Weights   string
	Resumed   int64 // valid if IsResumed; the other fields are zero then
	IsResumed bool
}

// File is what one process recorded.
type File struct {
	Header  Header
	Entries []Entry
	Torn    bool // the last line has no end: the process was killed while it wrote
}

// A Reader decodes a file while it grows.
type Reader struct {
	File
	rest  []byte
	begun bool
	lines int
}

// Feed decodes the lines that data completes.
func (r *Reader) Feed(data []byte) error {
	r.rest = append(r.rest, data...)
	for {
		end := bytes.IndexByte(r.rest, '\n')
		if end < 0 {
			r.Torn = len(r.rest) > 0
			return nil
		}
		r.lines++
		if err := r.line(r.rest[:end]); err != nil {
			return &errs.Error{Kind: errs.Corrupt, Op: "record", Subject: fmt.Sprint("line ", r.lines), Err: err}
		}
		r.rest = r.rest[end+1:]
	}
}

// Parse decodes a whole file.
func Parse(data []byte) (File, error) {
	var r Reader
	err := r.Feed(data)
	return r.File, err
}

func (r *Reader) line(text []byte) error {
	if !r.begun {
		if err := json.Unmarshal(text, &r.Header); err != nil || r.Header.Format != Format {
			return &errs.Error{Kind: errs.Corrupt, Want: "the header of a file of records", Got: "another line"}
		}
		if r.Header.Version != Version {
			return &errs.Error{
				Kind: errs.Unsupported, Subject: "version", Want: fmt.Sprint(Version), Got: fmt.Sprint(r.Header.Version),
				Remedy: "use the same version of Bivouac for the job and for crashtest",
			}
		}
		r.begun = true
		return nil
	}
	var l Line
	if err := json.Unmarshal(text, &l); err != nil {
		return &errs.Error{Kind: errs.Corrupt, Want: "a record", Err: err}
	}
	if l.Resumed != nil {
		r.Entries = append(r.Entries, Entry{Resumed: *l.Resumed, IsResumed: true})
		return nil
	}
	e := Entry{Epoch: l.Epoch, Loss: l.Loss, Weights: l.Weights}
	if l.Step != nil {
		e.Step, e.HasStep = *l.Step, true
	}
	for _, loss := range l.Loss {
		if _, err := DecodeLoss(loss); err != nil {
			return err
		}
	}
	ids, err := DecodeIDs(l.IDs, l.Count)
	if err != nil {
		return err
	}
	e.IDs = ids
	r.Entries = append(r.Entries, e)
	return nil
}
