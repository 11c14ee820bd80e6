package orbax

import (
	_ "embed"
	"strings"
)

// Verdict says how close the Go name is.
type Verdict string

// The verdicts.
const (
	Yes     Verdict = "yes"     // the same meaning and defaults
	Differs Verdict = "differs" // the same purpose; Why says what differs
	No      Verdict = "no"      // tied to JAX devices or to Pathways
)

// Name is one public name of Orbax: a module, a function, a class or a member of one of these.
type Name struct {
	Orbax   string   // "v1.AsyncResponse.result"
	Go      []string // "checkpoint.Response.Result"; empty if Go has no such name
	Verdict Verdict
	Why     string   // set for Differs and No
	Held    []string // tests and examples that check it: the name, a space, and the file below the module
}

//go:embed names.tsv
var table string

// Names returns all names, module by module.
func Names() []Name {
	var out []Name
	for line := range strings.Lines(table) {
		c := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		out = append(out, Name{Orbax: c[0], Go: list(c[1]), Verdict: Verdict(c[2]), Why: c[3], Held: list(c[4])})
	}
	return out
}

// Lookup returns the entry for a name as Orbax spells it, starting with "v1".
func Lookup(orbax string) (Name, bool) {
	for _, n := range Names() {
		if n.Orbax == orbax {
			return n, true
		}
	}
	return Name{}, false
}

func list(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ", ")
}
