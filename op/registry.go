package op

import (
	"cmp"
	_ "embed" // planned.txt
	"slices"
	"strings"
	"sync"

	"github.com/bivouac-ml/bivouac/errs"
)

// The registry is filled by init functions of the operators' packages and may
// be extended by programs before they build graphs.
var registry struct {
	sync.RWMutex
	byName map[string]*Schema
}

// Register makes an operator known under its full name. It panics when the schema is malformed or
// the name is taken: both are mistakes of the program, which show at its start.
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

// Lookup returns the operator called name ("decoders.image"). The error of an unknown name proposes
// the nearest known one; the error for an operator of DALI that is missing here says so, and is
// errs.Unsupported.
func Lookup(name string) (*Schema, error) {
	registry.RLock()
	defer registry.RUnlock()
	if s, ok := registry.byName[name]; ok {
		return s, nil
	}
	if Planned(name) {
		return nil, &errs.Error{Kind: errs.Unsupported, Op: "operator", Subject: name, Got: "an operator of DALI that is not there yet", Remedy: "docs/compat/dali.md lists what is"}
	}
	names := make([]string, 0, len(registry.byName))
	for n := range registry.byName {
		names = append(names, n)
	}
	return nil, &errs.Error{Kind: errs.NotFound, Op: "operator", Subject: name, Remedy: Nearest(name, names)}
}

// Planned reports whether name belongs to an operator that is listed and not there yet.
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

// Nearest returns `did you mean "x"?` for the entry of names that is most like name, or "" if no
// entry is like it; see errs.DidYouMean.
func Nearest(name string, names []string) string { return errs.DidYouMean(name, names) }

// planned are the operators of DALI 2.4.0, by their names in nvidia.dali.fn, that are
// not there yet. A name that an operator is registered under is looked up first.
var planned = strings.Fields(plannedText)

//go:embed planned.txt
var plannedText string
