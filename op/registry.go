package op

import (
	"cmp"
	_ "embed" // planned.txt
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/bivouac-ml/bivouac/errs"
)

// The init functions of the operators' packages fill the registry. A program may add operators
// before it builds graphs.
var registry struct {
	sync.RWMutex
	byName map[string]*Schema
}

// Register registers an operator under its full name. It panics if the schema is malformed or the
// name is taken. Both are mistakes in the program, and show when it starts.
func Register(s Schema) {
	if err := s.Validate(); err != nil {
		panic(err)
	}
	registry.Lock()
	defer registry.Unlock()
	name := s.FullName()
	if _, taken := registry.byName[name]; taken {
		panic(&errs.Error{Kind: errs.Exists, Op: "op.Register", Subject: name})
	}
	if registry.byName == nil {
		registry.byName = map[string]*Schema{}
	}
	registry.byName[name] = &s
}

// Lookup returns the operator with the given full name, such as "decoders.image". The error for an
// unknown name suggests the nearest known name. The error for an operator of DALI that Bivouac does
// not have, or has in another form, is of kind errs.Unsupported.
func Lookup(name string) (*Schema, error) {
	registry.RLock()
	defer registry.RUnlock()
	if s, ok := registry.byName[name]; ok {
		return s, nil
	}
	if Planned(name) {
		return nil, &errs.Error{Kind: errs.Unsupported, Op: "operator", Subject: name,
			Got: "an operator of DALI that Bivouac does not have yet", Remedy: "see the operators in docs/compat/dali.md"}
	}
	if e, ok := elsewhere[name]; ok {
		return nil, &errs.Error{Kind: errs.Unsupported, Op: "operator", Subject: name, Want: "an operator of a graph",
			Got: e.what, Remedy: e.instead}
	}
	if path, ok := optIn[name]; ok {
		return nil, &errs.Error{Kind: errs.NotFound, Op: "operator", Subject: name, Want: "an import of " + path,
			Got:    "a program without it",
			Remedy: `import _ "` + path + `"`}
	}
	names := make([]string, 0, len(registry.byName))
	for n := range registry.byName {
		names = append(names, n)
	}
	return nil, &errs.Error{Kind: errs.NotFound, Op: "operator", Subject: name, Remedy: Nearest(name, names)}
}

// optIn are the packages that register an operator when a program imports them.
var optIn = map[string]string{
	"readers.arrow":   "github.com/bivouac-ml/bivouac/reader/arrow",
	"readers.parquet": "github.com/bivouac-ml/bivouac/reader/parquet",
}

// elsewhere are the operators of DALI's CPU backend that are not operators here: what DALI has
// under that name, and what to use instead.
var elsewhere = map[string]struct{ what, instead string }{
	"external_source": {"samples that the program gives",
		"use pipeline.ExternalSource"},
	"experimental.inputs.video": {"an input that is fed",
		"use pipeline.FromFed with video.NewInput of package reader/video"},
	"python_function": {"a function in Python, which needs a Python interpreter",
		"write the function in Go and use fn.Func of pipeline/fn, or call it on the batches in Python"},
	"dl_tensor_python_function": {"a function in Python on DLPack tensors, which needs a Python interpreter",
		"write the function in Go and use fn.Func of pipeline/fn, or call it on the batches in Python"},
}

// Elsewhere returns the names of the operators of DALI's CPU backend that are not operators here,
// sorted. The error of Lookup says what to use instead.
func Elsewhere() []string { return slices.Sorted(maps.Keys(elsewhere)) }

// Planned reports whether name is the name of an operator of DALI that Bivouac does not have yet.
func Planned(name string) bool { return slices.Contains(planned, name) }

// Schemas returns all registered operators, sorted by full name.
func Schemas() []*Schema {
	registry.RLock()
	defer registry.RUnlock()
	all := make([]*Schema, 0, len(registry.byName))
	for _, s := range registry.byName {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *Schema) int { return cmp.Compare(a.FullName(), b.FullName()) })
	return all
}

// Nearest returns `did you mean "x"?` for the entry of names that is most similar to name, or "" if
// no entry is similar; see errs.DidYouMean.
func Nearest(name string, names []string) string { return errs.DidYouMean(name, names) }

// planned lists the operators of DALI 2.4.0 that Bivouac does not have yet, by their names in
// nvidia.dali.fn. Registered names are looked up first.
var planned = strings.Fields(plannedText)

//go:embed planned.txt
var plannedText string
