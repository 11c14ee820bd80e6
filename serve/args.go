package serve

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// args are the arguments of a call. Each method reads one by its name; the first mistake is kept.
// finish returns it.
type args struct {
	left map[string][]byte // that were not read yet
	all  []string
	err  error
	// checkURL is Options.CheckURL.
	checkURL func(url string) error
}

// newArgs takes an object apart, or nothing.
func newArgs(text []byte) *args {
	a := &args{left: map[string][]byte{}}
	if len(text) == 0 {
		return a
	}
	c := &cursor{b: text}
	for c.enter('{'); c.err == nil && c.more('}'); {
		name := c.text()
		a.left[name] = c.skip()
	}
	a.err = errs.Wrap("", "args", c.err)
	return a
}

// raw returns the text of an argument, or nil for none and for null.
func (a *args) raw(name string) []byte {
	text := a.left[name]
	delete(a.left, name)
	a.all = append(a.all, name)
	if bytes.Equal(text, []byte("null")) {
		return nil
	}
	return text
}

// into decodes an argument, if there is one.
func (a *args) into(name string, dst any) {
	text := a.raw(name)
	if text == nil || a.err != nil {
		return
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(dst); err != nil {
		a.err = &errs.Error{Kind: errs.Invalid, Subject: "argument " + name, Got: clipped(text), Err: err}
	}
}

func (a *args) text(name string) (s string) {
	a.into(name, &s)
	return s
}

func (a *args) flag(name string) (b bool) {
	a.into(name, &b)
	return b
}

func (a *args) id(name string) (n int64) {
	a.into(name, &n)
	return n
}

// path reads the argument path, which must be there.
func (a *args) path() string { return a.place("path") }

// place reads an absolute path, or a URL that the program opens. It must be there.
func (a *args) place(name string) string {
	p := a.optionalPlace(name)
	if p == "" && a.err == nil {
		a.err = &errs.Error{Kind: errs.Invalid, Subject: "argument " + name, Want: "an absolute path or a URL",
			Got: "no path"}
	}
	return p
}

// optionalPlace works like place, and returns "" without the argument.
func (a *args) optionalPlace(name string) string {
	p := a.text(name)
	a.checkPlace(p)
	return p
}

// checkPlace refuses a URL that the program does not open.
func (a *args) checkPlace(p string) {
	if a.err == nil && a.checkURL != nil && store.IsURL(p) {
		a.err = a.checkURL(p)
	}
}

// context reads the options of the call.
func (a *args) context() (o options.Options) {
	text := a.raw("context")
	if text == nil || a.err != nil {
		return o
	}
	o, err := options.ParseJSON(text)
	a.err = errs.Wrap("", "context", err)
	return o
}

// custom reads metadata of the user: the text of an object, or nil.
func (a *args) custom() any {
	text := a.raw("custom")
	if text == nil {
		return nil
	}
	return json.RawMessage(bytes.Clone(text))
}

// finish returns the first mistake. An argument that no method has read is one.
func (a *args) finish() error {
	if a.err == nil && len(a.left) > 0 {
		name := slices.Min(slices.Collect(maps.Keys(a.left)))
		a.err = &errs.Error{Kind: errs.Invalid, Subject: "argument " + name, Got: "an argument that this call does not have",
			Remedy: errs.DidYouMean(name, a.all)}
	}
	return a.err
}

// clipped is the beginning of a text, for messages.
func clipped(text []byte) string {
	const most = 80
	if len(text) <= most {
		return string(text)
	}
	return string(bytes.ToValidUTF8(text[:most], nil)) + "…"
}
