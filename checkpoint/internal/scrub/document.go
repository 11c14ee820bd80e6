// Package scrub reads and writes the document with the results of the last scrub of a run: the file
// .bivouac.scrub beside the steps.
//
// It is text, one record a line, names and messages as Go quoted strings:
//
//	bivouac.scrub 1
//	step <step> "<directory>" <hash> <time> <bytes>   XXH3 of 128 bits of the manifest; seconds since 1970; bytes of all files
//	damage "<file>" "<what>"                          of the step above
//	end <crc>                                         CRC-32C of every byte before this line
//
// An entry is valid for the step whose manifest has the hash. The document is never needed: if it
// is missing, damaged or of another version, the steps count as never scrubbed.
package scrub

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/crc"
	"github.com/bivouac-ml/bivouac/store"
)

// Name of the document, below the directory of a run.
const Name = ".bivouac.scrub"

const header = "bivouac.scrub 1\n"

// maxDamages bounds the damages that are kept of one step.
const maxDamages = 20

// Entry is the result of scrubbing one step.
type Entry struct {
	Step      int64
	Directory string
	Manifest  manifest.Hash // of the document bivouac.manifest
	At        time.Time     // in seconds
	Bytes     int64         // of all files
	Damages   []Damage      // at most 20
}

// Damage is a damaged file.
type Damage struct{ File, What string }

// Append appends the document.
func Append(dst []byte, entries []Entry) []byte {
	start := len(dst)
	dst = append(dst, header...)
	for _, e := range entries {
		dst = fmt.Appendf(dst, "step %d %q %x %d %d\n", e.Step, e.Directory, e.Manifest, e.At.Unix(), e.Bytes)
		for _, d := range e.Damages[:min(len(e.Damages), maxDamages)] {
			dst = fmt.Appendf(dst, "damage %q %q\n", d.File, d.What)
		}
	}
	return fmt.Appendf(dst, "end %08x\n", crc.Sum(dst[start:]))
}

// Parse reads a document. Errors are errs.Corrupt, or errs.Unsupported for another version.
func Parse(b []byte) ([]Entry, error) {
	const endLen = len("end 01234567\n")
	if !bytes.HasPrefix(b, []byte("bivouac.scrub ")) || len(b) < len(header)+endLen {
		return nil, corrupt("not a document of a scrub")
	}
	body, end := b[:len(b)-endLen], string(b[len(b)-endLen:])
	if end != fmt.Sprintf("end %08x\n", crc.Sum(body)) {
		return nil, corrupt("the document's own checksum does not match")
	}
	if !bytes.HasPrefix(b, []byte(header)) {
		return nil, &errs.Error{Kind: errs.Unsupported, Op: "scrub", Subject: Name, Want: "version 1"}
	}
	var out []Entry
	for line := range strings.Lines(string(body[len(header):])) {
		kind, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		var err error
		switch {
		case kind == "step":
			var e Entry
			e, err = parseStep(rest)
			out = append(out, e)
		case kind == "damage" && len(out) > 0:
			var d Damage
			d.File, rest, err = cutQuoted(rest)
			if err == nil {
				d.What, rest, err = cutQuoted(rest)
			}
			if err == nil && rest != "" {
				err = corrupt("damage")
			}
			last := &out[len(out)-1]
			last.Damages = append(last.Damages, d)
		default:
			err = corrupt("record")
		}
		if err != nil {
			return nil, corrupt(fmt.Sprintf("line %.80q", line))
		}
	}
	return out, nil
}

func parseStep(s string) (e Entry, err error) {
	step, s, _ := strings.Cut(s, " ")
	if e.Step, err = strconv.ParseInt(step, 10, 64); err != nil {
		return e, err
	}
	if e.Directory, s, err = cutQuoted(s); err != nil {
		return e, err
	}
	f := strings.Split(s, " ")
	if len(f) != 3 || len(f[0]) != 32 {
		return e, corrupt("step")
	}
	if _, err = hex.Decode(e.Manifest[:], []byte(f[0])); err != nil {
		return e, err
	}
	at, err := strconv.ParseInt(f[1], 10, 64)
	if err != nil {
		return e, err
	}
	e.At = time.Unix(at, 0)
	e.Bytes, err = strconv.ParseInt(f[2], 10, 64)
	return e, err
}

func cutQuoted(s string) (text, rest string, err error) {
	q, _ := strconv.QuotedPrefix(s) // "" is refused by Unquote
	text, err = strconv.Unquote(q)
	return text, strings.TrimPrefix(s[len(q):], " "), err
}

func corrupt(got string) error {
	return &errs.Error{Kind: errs.Corrupt, Op: "scrub", Subject: Name, Got: got}
}

// Read returns the entries of a run for steps that have not changed since. It returns no entries if
// the document cannot be read.
func Read(ctx context.Context, st store.Store, root string) []Entry {
	b, err := store.ReadAll(ctx, st, path.Join(root, Name))
	if err != nil {
		return nil
	}
	list, err := Parse(b)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(list, func(e Entry) bool {
		if store.CheckName("scrub", e.Directory) != nil || strings.Contains(e.Directory, "/") {
			return true
		}
		b, err := store.ReadAll(ctx, st, path.Join(root, e.Directory, manifest.Name))
		return err != nil || manifest.HashOf(b) != e.Manifest
	})
}

// Write replaces the document of a run.
func Write(ctx context.Context, st store.Store, root string, entries []Entry) error {
	return st.Put(ctx, path.Join(root, Name), Append(nil, entries), store.PutOptions{})
}

// Forget removes a step from the document, if there is a document: its entry is not valid any more.
func Forget(ctx context.Context, st store.Store, root, directory string) error {
	if _, err := st.Stat(ctx, path.Join(root, Name)); errs.KindOf(err) == errs.NotFound {
		return nil
	} else if err != nil {
		return err
	}
	list := Read(ctx, st, root)
	return Write(ctx, st, root, slices.DeleteFunc(list, func(e Entry) bool { return e.Directory == directory }))
}
