package state

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
)

// Version is the version of the documents that this package writes, and the newest version that it
// reads. Since version 2 a document has a checksum of itself.
const Version = 2

// Document is the state of a stream. Marshal leaves out the fields after Position that are zero,
// and adds the checksum.
type Document struct {
	Version  int    // the version of the form of the document
	Kind     string // the kind of stream, such as "pipeline"
	Position int64  // samples delivered since the beginning

	Epoch int64 // not checked
	Batch int64 // batches delivered in the epoch; not checked

	Fingerprint string            // the fingerprint of the data set
	Config      string            // hash of the options that decide what is delivered
	Fields      map[string]string // the same options in words, for messages
	Digest      string            // the digest of the delivered ids, see type Digest
	Extra       map[string]json.RawMessage
}

// form is the JSON form of a Document.
type form struct {
	Batch       int64                      `json:"batch,omitempty"`
	Checksum    string                     `json:"checksum,omitempty"`
	Config      string                     `json:"config,omitempty"`
	Digest      string                     `json:"digest,omitempty"`
	Epoch       int64                      `json:"epoch,omitempty"`
	Extra       map[string]json.RawMessage `json:"extra,omitempty"`
	Fields      map[string]string          `json:"fields,omitempty"`
	Fingerprint string                     `json:"fingerprint,omitempty"`
	Kind        string                     `json:"kind"`
	Position    int64                      `json:"position"`
	Version     int                        `json:"version"`
}

// MarshalJSON implements json.Marshaler with Marshal.
func (d Document) MarshalJSON() ([]byte, error) { return d.Marshal() }

// UnmarshalJSON implements json.Unmarshaler with Unmarshal.
func (d *Document) UnmarshalJSON(b []byte) error {
	read, err := Unmarshal(b)
	if err == nil {
		*d = read
	}
	return err
}

// Marshal returns the document as canonical JSON. The error is of kind errs.Invalid if a value of
// Extra is not JSON, if text is not UTF-8, or if Unmarshal would reject the document.
func (d Document) Marshal() ([]byte, error) {
	if err := d.validate(errs.Invalid, "state.Marshal"); err != nil {
		return nil, err
	}
	f := form{Batch: d.Batch, Config: d.Config, Digest: d.Digest, Epoch: d.Epoch, Extra: d.Extra, Fields: d.Fields,
		Fingerprint: d.Fingerprint, Kind: d.Kind, Position: d.Position, Version: d.Version}
	if d.Version > 1 {
		f.Checksum = checksumZeros
	}
	if err := validText(f); err != nil {
		return nil, &errs.Error{Kind: errs.Invalid, Op: "state.Marshal", Err: err}
	}
	b, err := json.Marshal(f)
	if err != nil {
		return nil, &errs.Error{Kind: errs.Invalid, Op: "state.Marshal", Err: err}
	}
	b, err = Canonical(b)
	if err != nil {
		return nil, &errs.Error{Kind: errs.Invalid, Op: "state.Marshal", Err: err}
	}
	Seal(b)
	return b, nil
}

// Unmarshal reads a document, strictly: each name comes once and is spelled exactly, no field is
// unknown except inside "extra", integers have no fractions, and nothing follows the document. From
// version 2 on the checksum must match. The error is of kind errs.Unsupported for a newer version,
// else of kind errs.Corrupt.
func Unmarshal(b []byte) (Document, error) {
	const op = "state.Unmarshal"
	v, err := parse(b)
	if err != nil {
		return Document{}, errs.Wrap(op, "", err)
	}
	top, ok := v.(map[string]any)
	if !ok {
		return Document{}, corrupt(op, "", "a JSON object", describe(v))
	}
	var d Document
	r := fieldReader{op: op, top: top}
	version := r.integer("version", true)
	if r.err == nil && version > Version {
		return Document{}, &errs.Error{Kind: errs.Unsupported, Op: op, Subject: "version",
			Want: "a version of at most " + strconv.Itoa(Version), Got: strconv.FormatInt(version, 10),
			Remedy: "a newer Bivouac wrote it: load it with that version"}
	}
	d.Version = int(version)
	if r.err == nil && version > 1 {
		top["version"] = json.Number(strconv.FormatInt(version, 10))
		digits, _ := top[checksumName].(string)
		if err := checkSeal(op, top, digits); err != nil {
			return Document{}, err
		}
		delete(top, "version")
		delete(top, checksumName)
	}
	d.Kind = r.text("kind", true)
	d.Position = r.integer("position", true)
	d.Epoch, d.Batch = r.integer("epoch", false), r.integer("batch", false)
	d.Fingerprint, d.Config, d.Digest = r.text("fingerprint", false), r.text("config", false), r.text("digest", false)
	d.Fields = readMap(&r, "fields", func(name string, v any) string {
		s, isText := v.(string)
		if !isText {
			r.fail("fields."+name, "text", describe(v))
		}
		return s
	})
	d.Extra = readMap(&r, "extra", func(_ string, v any) json.RawMessage { return appendValue(nil, v) })
	if r.err == nil && len(top) > 0 {
		r.fail(slices.Sorted(maps.Keys(top))[0], "only known fields", "an unknown field")
	}
	if r.err != nil {
		return Document{}, r.err
	}
	if err := d.validate(errs.Corrupt, op); err != nil {
		return Document{}, err
	}
	return d, nil
}

func (d Document) validate(kind errs.Kind, op string) error {
	fail := func(field, want string, got any) error {
		return &errs.Error{Kind: kind, Op: op, Subject: field, Want: want, Got: fmt.Sprint(got)}
	}
	switch {
	case d.Version < 1 || d.Version > Version:
		return fail("version", fmt.Sprintf("a version from 1 to %d", Version), d.Version)
	case d.Kind == "":
		return fail("kind", "a name", `""`)
	case d.Position < 0:
		return fail("position", "at least 0", d.Position)
	case d.Epoch < 0:
		return fail("epoch", "at least 0", d.Epoch)
	case d.Batch < 0:
		return fail("batch", "at least 0", d.Batch)
	}
	return nil
}

// validText returns an error that names text that is not UTF-8. Package encoding/json would replace
// it silently.
func validText(f form) error {
	texts := map[string]string{"kind": f.Kind, "fingerprint": f.Fingerprint, "config": f.Config, "digest": f.Digest}
	for k, v := range f.Fields {
		texts["fields."+k] = k + v
	}
	for k := range f.Extra {
		texts["extra."+k] = k
	}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		if s := texts[name]; strings.ToValidUTF8(s, "") != s {
			return fmt.Errorf("%s is not UTF-8", strconv.Quote(name))
		}
	}
	return nil
}

// Check returns nil if a stream whose state now would be want can continue from d: kind,
// fingerprint, config and all fields are the same. Otherwise the error is of kind errs.Mismatch. It
// names the first difference with both values, and then the other differences. Position, epoch,
// batch, digest and extra are not compared.
func (d Document) Check(want Document) error {
	diff := want.differences(d)
	if len(diff) == 0 {
		return nil
	}
	e := &errs.Error{Kind: errs.Mismatch, Op: "state.Check", Subject: diff[0].name, Want: diff[0].want, Got: diff[0].got,
		Remedy: "the state belongs to another stream"}
	var others []string
	for _, d := range diff[1:] {
		others = append(others, fmt.Sprintf("%s (want %s, got %s)", d.name, d.want, d.got))
	}
	if len(others) > 0 {
		e.Err = fmt.Errorf("and %s", strings.Join(others, ", "))
	}
	return e
}

type difference struct{ name, want, got string }

// differences returns the differences, with the kind of stream first, then the data set, then the
// options in words. It compares the hash of the options only if all other values are equal.
func (d Document) differences(got Document) []difference {
	var diff []difference
	compare := func(name, want, got string) {
		if want != got {
			diff = append(diff, difference{name, shorten(want), shorten(got)})
		}
	}
	compare("kind", d.Kind, got.Kind)
	compare("data set fingerprint", d.Fingerprint, got.Fingerprint)
	named := len(diff)
	all := maps.Clone(d.Fields)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, got.Fields)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		w, inWant := d.Fields[name]
		g, inGot := got.Fields[name]
		switch {
		case !inWant:
			diff = append(diff, difference{name, "none", shorten(g)})
		case !inGot:
			diff = append(diff, difference{name, shorten(w), "none"})
		default:
			compare(name, w, g)
		}
	}
	if len(diff) == named {
		compare("config", d.Config, got.Config)
	}
	return diff
}

// shorten quotes text that would be misread and cuts text that is too long for a message.
func shorten(s string) string {
	s = cut(s)
	if s == "" || strings.ContainsAny(s, " ,\"\n\t") || strings.ToValidUTF8(s, "") != s {
		return strconv.Quote(s)
	}
	return s
}

func cut(s string) string {
	const longest = 120
	if len(s) > longest {
		return s[:longest] + "…"
	}
	return s
}

func corrupt(op, subject, want, got string) error {
	return &errs.Error{Kind: errs.Corrupt, Op: op, Subject: subject, Want: want, Got: got}
}

// fieldReader takes fields out of a parsed object and keeps the first error.
type fieldReader struct {
	op  string
	top map[string]any
	err error
}

func (r *fieldReader) take(name string, required bool) (any, bool) {
	v, ok := r.top[name]
	delete(r.top, name)
	if !ok && required {
		r.fail(name, "a value", "nothing")
	}
	return v, ok
}

func (r *fieldReader) fail(name, want, got string) {
	if r.err == nil {
		r.err = corrupt(r.op, name, want, got)
	}
}

func (r *fieldReader) integer(name string, required bool) int64 {
	v, ok := r.take(name, required)
	if !ok {
		return 0
	}
	n, isNumber := v.(json.Number)
	i, err := strconv.ParseInt(string(n), 10, 64)
	if !isNumber || err != nil {
		r.fail(name, "an integer", describe(v))
	}
	return i
}

func (r *fieldReader) text(name string, required bool) string {
	v, ok := r.take(name, required)
	if !ok {
		return ""
	}
	s, isText := v.(string)
	if !isText {
		r.fail(name, "text", describe(v))
	}
	return s
}

// readMap reads an object, in the order of its names. It returns nil if the object is absent or
// empty, because Marshal does not write an empty one.
func readMap[T any](r *fieldReader, name string, value func(name string, v any) T) map[string]T {
	v, ok := r.take(name, false)
	if !ok {
		return nil
	}
	object, isObject := v.(map[string]any)
	if !isObject {
		r.fail(name, "an object", describe(v))
	}
	if len(object) == 0 {
		return nil
	}
	m := make(map[string]T, len(object))
	for _, k := range slices.Sorted(maps.Keys(object)) {
		m[k] = value(k, object[k])
	}
	return m
}
