package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// list is the file of known sites: one on a line, as its ID; below it, indented,
// the test that killed it last, or why its removal changes nothing that can be
// seen. Where the mutant is a loop that does not end, the test cannot fail: it runs
// past its time limit, and that kills the mutant only where the list says endless.
//
//	sync store/local.(*txn).publish: t.s.fs.SyncDir(…)
//		killed: store/local TestFaults
//	error store/local.(*Store).Put: err := alive(ctx, op, name); err != nil
//		same: why no test can tell
//	error checkpoint/training.freeName: err != nil
//		endless: checkpoint/training TestStartFreshOnBadDisk
//	decision store/object.(*Store).sweep: notes … never
//		open: no test kills it yet, and nobody has shown that none can
//
// A site that is open survives and is a debt: the tests lack something, or it is equivalent and
// nobody has shown it. A test counts them, and their number may only fall.
type list struct {
	name  string
	head  string // comment lines at the start
	known map[string]entry
	order []string
	moved map[string]entry // of sites that are gone, by what is left of the ID without the package
}

// entry is what the list knows about a site: a killer or a reason, or neither.
type entry struct {
	killer  string // the name of a test
	endless bool   // it runs past its time limit, since a loop does not end
	reason  string
	open    string // why it is neither killed nor excused yet
}

const (
	killerPrefix  = "\tkilled: "
	endlessPrefix = "\tendless: "
	reasonPrefix  = "\tsame: "
	openPrefix    = "\topen: "
)

func readList(name string) (*list, error) {
	l := &list{name: name, known: map[string]entry{}}
	b, err := os.ReadFile(name)
	if os.IsNotExist(err) {
		return l, nil
	}
	if err != nil {
		return nil, err
	}
	for n, line := range strings.Split(strings.TrimSuffix(string(b), "\n"), "\n") {
		if err := l.add(line); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, n+1, err)
		}
	}
	return l, nil
}

// add enters a line.
func (l *list) add(line string) error {
	killer, killed := strings.CutPrefix(line, killerPrefix)
	endless := false
	if !killed {
		killer, endless = strings.CutPrefix(line, endlessPrefix)
	}
	reason, same := strings.CutPrefix(line, reasonPrefix)
	why, open := strings.CutPrefix(line, openPrefix)
	switch {
	case line == "":
	case strings.HasPrefix(line, "#"):
		l.head += line + "\n"
	case killed || endless || same || open:
		if len(l.order) == 0 || strings.HasSuffix(strings.TrimSpace(line), ":") || l.known[l.order[len(l.order)-1]] != (entry{}) {
			return fmt.Errorf("%q stands below no site, or says nothing, or is the second", line)
		}
		e := entry{killer: killer, endless: endless}
		switch {
		case same:
			e = entry{reason: reason}
		case open:
			e = entry{open: why}
		}
		l.known[l.order[len(l.order)-1]] = e
	default:
		if _, twice := l.known[line]; twice {
			return fmt.Errorf("twice: %s", line)
		}
		l.known[line] = entry{}
		l.order = append(l.order, line)
	}
	return nil
}

// entry returns what is known about a site of the source. What went to another
// package is known by what it was there.
func (l *list) entry(s *site) entry {
	if e, ok := l.known[s.ID()]; ok {
		return e
	}
	return l.moved[local(s.ID())]
}

// match learns which sites of the list are gone from the source.
func (l *list) match(sites []*site) {
	there := map[string]bool{}
	for _, s := range sites {
		there[s.ID()] = true
	}
	l.moved = map[string]entry{}
	for id, e := range l.known {
		if !there[id] {
			l.moved[local(id)] = e
		}
	}
}

// local is an ID without the package: kind, function, and what stands there.
func local(id string) string {
	kind, rest, _ := strings.Cut(id, " ")
	fn, text, _ := strings.Cut(rest, ": ")
	return kind + " " + fn[strings.LastIndexByte(fn, '.')+1:] + ": " + text
}

// judge holds the source and the outcomes against the list. Sites that were not
// chosen are only looked up.
func (l *list) judge(sites, chosen []*site) []string {
	var out []string
	there := map[string]bool{}
	for _, s := range sites {
		there[s.ID()] = true
		if _, ok := l.known[s.ID()]; !ok {
			out = append(out, fmt.Sprintf("not in the list: %s (%s)", s.ID(), s.line))
		}
	}
	for _, id := range l.order {
		if !there[id] {
			out = append(out, "in the list and gone from the source: "+id)
		}
	}
	for _, s := range chosen {
		reason, open := l.entry(s).reason, l.entry(s).open != ""
		switch {
		case open && !s.killed:
		case open:
			out = append(out, "open in the list, and killed now (-update notes it): "+s.outcome())
		case !s.killed && s.late > 0:
			out = append(out, s.outcome()+": no test fails, and on a busy machine that proves nothing; where the mutant is a loop that does not end, the list says endless")
		case !s.killed && reason == "":
			out = append(out, s.outcome())
		case s.killed && reason != "":
			out = append(out, "excused by the list, and not needed: "+s.outcome())
		}
	}
	return out
}

// update writes the list anew, in the order of the source: what is gone goes,
// what is new and was killed comes with its killer, reasons stay and move.
func (l *list) update(sites, chosen []*site) error {
	var b strings.Builder
	b.WriteString(l.head)
	known := map[string]entry{}
	var order []string
	for _, s := range sites {
		id, e := s.ID(), l.entry(s)
		_, listed := l.known[id]
		killed := s.killed && slices.Contains(chosen, s)
		if !listed && !killed && e.reason == "" && e.open == "" {
			continue
		}
		if killed && e.reason == "" {
			e.killer, e.endless, e.open = s.by, s.late > 0, ""
		}
		known[id] = e
		order = append(order, id)
		b.WriteString(id + "\n")
		switch {
		case e.reason != "":
			b.WriteString(reasonPrefix + e.reason + "\n")
		case e.open != "":
			b.WriteString(openPrefix + e.open + "\n")
		case e.endless:
			b.WriteString(endlessPrefix + e.killer + "\n")
		case e.killer != "":
			b.WriteString(killerPrefix + e.killer + "\n")
		}
	}
	l.known, l.order = known, order
	return os.WriteFile(l.name, []byte(b.String()), 0o666)
}

// verdicts sums up.
func verdicts(chosen []*site, l *list) string {
	killed, late, same, open, survived := 0, 0, 0, 0, 0
	for _, s := range chosen {
		switch {
		case s.late > 0:
			late++
		case s.killed:
			killed++
		case l.entry(s).reason != "":
			same++
		default:
			survived++
			if l.entry(s).open != "" {
				open++
			}
		}
	}
	text := fmt.Sprintf("%d mutants: %d killed, %d killed by time, %d equivalent by the list, %d survived", len(chosen),
		killed, late, same, survived)
	if open > 0 {
		text += fmt.Sprintf(", %d of them open in the list", open)
	}
	return text
}
