package suite

import (
	"context"
	"fmt"
	"io"
	"slices"
)

// Suite is one family of cases.
type Suite struct {
	Cases       func(dir string) ([]Case, error)
	Ignored     map[string]string // member name → why it is not compared
	Divergences []string          // kinds, which a document lists
	Counted     bool              // divergent cases are counted by themselves
}

// Case is one case, by what -only may call it.
type Case struct {
	Name, Family, Path string
	Core               bool
	Operators          []string // that the case uses, in the dali suite
	Run                func(ctx context.Context, r *Report)
}

// Grade is what a case counts as.
type Grade int

const (
	Passed Grade = iota
	Failed
	Skipped
	Divergent
	Grades
)

// Outcome is a case with its grade.
type Outcome struct {
	Case
	Grade Grade
}

// ScratchKey is the key of a folder, in the context of all cases, that is removed at the end.
type ScratchKey struct{}

// Scratch is a folder that the cases share.
func Scratch(ctx context.Context) string {
	dir, _ := ctx.Value(ScratchKey{}).(string)
	return dir
}

// Report collects what one case found.
type Report struct {
	Ignored    map[string]string
	Kinds      []string // of divergences
	Failures   []string
	Skip       string
	Divergence string
}

// Fail notes a failure.
func (r *Report) Fail(format string, args ...any) {
	r.Failures = append(r.Failures, fmt.Sprintf(format, args...))
}

// Grade returns what the case counts as. Divergent cases pass unless they are counted.
func (r *Report) Grade(counted bool) Grade {
	switch {
	case len(r.Failures) > 0:
		return Failed
	case r.Skip != "":
		return Skipped
	case r.Divergence != "" && counted:
		return Divergent
	}
	return Passed
}

// Diverge says where a case is judged by another rule than that the peer does the
// same. The kind of such a divergence is one that the document lists.
func (r *Report) Diverge(kind, format string, args ...any) {
	if !slices.Contains(r.Kinds, kind) {
		r.Fail("unknown divergence %q", kind)
	}
	r.Divergence = kind + ": " + fmt.Sprintf(format, args...)
}

// Print writes a line for each failure, and one for a skip and a divergence.
func (r *Report) Print(w io.Writer, c Case) {
	for _, f := range r.Failures {
		fmt.Fprintf(w, "FAIL %s: %s\n", c.Name, f)
	}
	if r.Skip != "" {
		fmt.Fprintf(w, "skip %s: %s\n", c.Name, r.Skip)
	}
	if r.Divergence != "" {
		fmt.Fprintf(w, "divergence %s: %s\n", c.Name, r.Divergence)
	}
}

// AsJSON returns the report as -json prints it.
func (r *Report) AsJSON(c Case) map[string]any {
	return map[string]any{
		"case": c.Name, "family": c.Family, "core": c.Core,
		"passed": len(r.Failures) == 0 && r.Skip == "", "failures": r.Failures, "skip": r.Skip, "divergence": r.Divergence,
	}
}

// Failing is the case that a family becomes which cannot be judged.
func Failing(family, why string) Case {
	return Case{Name: family, Family: family, Path: family, Run: func(_ context.Context, r *Report) { r.Fail("%s", why) }}
}

// Count returns how many cases had each grade.
func Count(outcomes []Outcome) (n [Grades]int) {
	for _, o := range outcomes {
		n[o.Grade]++
	}
	return n
}

// WithScratch returns a context in which the cases find their folder.
func WithScratch(ctx context.Context, dir string) context.Context {
	return context.WithValue(ctx, ScratchKey{}, dir)
}
