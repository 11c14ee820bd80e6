package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// list is the file of known sites: one on a line, as its ID; below one whose
// removal changes nothing that can be seen, indented, the reason.
//
//	sync store/local.(*txn).publish: t.s.fs.SyncDir(…)
//	error store/local.(*Store).Put: err := alive(ctx, op, name); err != nil
//		same: why no test can tell
type list struct {
	name  string
	head  string // comment lines at the start
	known map[string]string
	order []string
}

const reasonPrefix = "\tsame: "

func readList(name string) (*list, error) {
	l := &list{name: name, known: map[string]string{}}
	b, err := os.ReadFile(name)
	if os.IsNotExist(err) {
		return l, nil
	}
	if err != nil {
		return nil, err
	}
	for n, line := range strings.Split(strings.TrimSuffix(string(b), "\n"), "\n") {
		reason, isReason := strings.CutPrefix(line, reasonPrefix)
		switch {
		case line == "":
		case strings.HasPrefix(line, "#"):
			l.head += line + "\n"
		case isReason:
			if len(l.order) == 0 || strings.TrimSpace(reason) == "" || l.known[l.order[len(l.order)-1]] != "" {
				return nil, fmt.Errorf("%s:%d: a reason without a site, or none", name, n+1)
			}
			l.known[l.order[len(l.order)-1]] = reason
		default:
			if _, twice := l.known[line]; twice {
				return nil, fmt.Errorf("%s:%d: twice: %s", name, n+1, line)
			}
			l.known[line] = ""
			l.order = append(l.order, line)
		}
	}
	return l, nil
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
		reason := l.known[s.ID()]
		switch {
		case !s.killed && reason == "":
			out = append(out, s.outcome())
		case s.killed && reason != "":
			out = append(out, "excused by the list, and not needed: "+s.outcome())
		}
	}
	return out
}

// update writes the list anew, in the order of the source: what is gone goes,
// what is new and was killed comes, reasons stay.
func (l *list) update(sites, chosen []*site) error {
	var b strings.Builder
	b.WriteString(l.head)
	known := map[string]string{}
	var order []string
	for _, s := range sites {
		id := s.ID()
		reason, ok := l.known[id]
		if !ok && !(s.killed && slices.Contains(chosen, s)) {
			continue
		}
		known[id] = reason
		order = append(order, id)
		b.WriteString(id + "\n")
		if reason != "" {
			b.WriteString(reasonPrefix + reason + "\n")
		}
	}
	l.known, l.order = known, order
	return os.WriteFile(l.name, []byte(b.String()), 0o666)
}

// verdicts sums up.
func verdicts(chosen []*site, l *list) string {
	killed, same, survived := 0, 0, 0
	for _, s := range chosen {
		switch {
		case s.killed:
			killed++
		case l.known[s.ID()] != "":
			same++
		default:
			survived++
		}
	}
	return fmt.Sprintf("%d mutants: %d killed, %d equivalent by the list, %d survived", len(chosen), killed, same, survived)
}
