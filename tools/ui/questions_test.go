package ui

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/bivouac-ml/bivouac/journal"
)

// question has an answer that is known, a command that tells it, and a text of the page that does.
type question struct {
	name    string
	want    string
	command func(c *commands) string
	page    func(p *page) string
}

// shown is what show --json prints.
type shown struct {
	Run      string
	State    string
	Step     int64
	Attempts []struct {
		Attempt, From, Last, Superseded int64
		State, Error                    string
	}
	Scalars []struct {
		Name  string
		Value float64
	}
}

// listed is what ls --json prints.
type listed struct {
	Directory string
	Steps     []struct {
		Step, Bytes int64
		Tags        []string
	}
	Skipped []struct{ Directory string }
}

// commands holds what the commands print of all runs.
type commands struct {
	t    testing.TB
	top  string
	show []shown
	list []listed
}

func newCommands(t testing.TB, top string, names []string) *commands {
	c := &commands{t: t, top: top, show: make([]shown, len(names))}
	if err := json.Unmarshal(bivouac(t, "ls", "--json", top), &c.list); err != nil {
		t.Fatal(err)
	}
	var all errgroup.Group
	all.SetLimit(4)
	for i, name := range names {
		all.Go(func() error {
			return json.Unmarshal(bivouac(t, "show", "--json", filepath.Join(top, name)), &c.show[i])
		})
	}
	if err := all.Wait(); err != nil {
		t.Fatal(err)
	}
	return c
}

// count counts the runs of which show says something.
func (c *commands) count(is func(s shown) bool) string {
	n := 0
	for _, s := range c.show {
		if is(s) {
			n++
		}
	}
	return strconv.Itoa(n)
}

// first returns the name of the run that comes first.
func (c *commands) first(less func(a, b shown) int) string {
	return filepath.Base(slices.MinFunc(c.show, less).Run)
}

// choose sets a field of the page, and waits for the answer.
func (p *page) choose(id, value, shown string) {
	p.t.Helper()
	eval[bool](p, fmt.Sprintf(`(e => { e.value = %q; e.dispatchEvent(new Event('input')); e.dispatchEvent(new Event('change'));
		return true; })(document.getElementById(%q))`, value, id))
	p.listed(shown)
}

// searched returns how many runs match, and their names if there are few.
func (p *page) searched(text string, n int) string {
	p.t.Helper()
	p.choose("search", text, strconv.Itoa(n))
	names := eval[[]string](p, "[...document.querySelectorAll('#runs-table tbody th')].map(e => e.innerText)")
	p.choose("search", "", strconv.Itoa(runs))
	return strings.Join(names, " ")
}

// sorted returns the first row, with an order.
func (p *page) sorted(by string, down bool, first string) string {
	p.t.Helper()
	if eval[bool](p, "document.getElementById('down').checked") != down {
		eval[bool](p, "document.getElementById('down').click() || true")
	}
	p.choose("sort", by, strconv.Itoa(runs))
	const row = "document.querySelector('#runs-table tbody tr')"
	p.until(row + ".innerText.startsWith('" + first + "')")
	text := eval[string](p, row+".innerText")
	p.choose("sort", "", strconv.Itoa(runs))
	return text
}

// linkTo finds the link to a run in the list.
func linkTo(run string) string {
	return fmt.Sprintf("[...document.querySelectorAll('#runs-table a')].find(a => a.textContent === %q)", run)
}

// opened opens a run, and returns the text of a part of it.
func (p *page) opened(run, part, want string) string {
	p.t.Helper()
	eval[bool](p, "("+linkTo(run)+".click(), true)")
	p.until(fmt.Sprintf("(document.getElementById(%q) || {innerText: ''}).innerText.includes(%q)", part, want))
	text := p.text(part)
	eval[bool](p, "history.back() || true")
	p.listed(strconv.Itoa(runs))
	return text
}

// TestTwelveQuestions makes 200 runs, and asks for what is known about them: with commands, and by
// the text of the page.
func TestTwelveQuestions(t *testing.T) {
	chromium(t)
	list := facts()
	top := makeRuns(t, list)
	var names []string
	for _, f := range list {
		names = append(names, f.name)
	}
	c := newCommands(t, top, names)
	address := serve(t, top)
	p := open(t, address, "light", 1400, 1000)
	p.listed(strconv.Itoa(runs))
	for _, q := range questions(list) {
		if got := q.command(c); got != q.want {
			t.Errorf("%s: the command says %q, want %q", q.name, got, q.want)
		}
		if got := q.page(p); !strings.Contains(got, q.want) {
			t.Errorf("%s: the page says %q, want %q", q.name, got, q.want)
		}
	}
	p.quiet(address)
}

func questions(list []fact) []question {
	count := func(is func(f fact) bool) (n int, names string) {
		var found []string
		for _, f := range list {
			if is(f) {
				n, found = n+1, append(found, f.name)
			}
		}
		return n, strings.Join(found, " ")
	}
	done, _ := count(func(f fact) bool { return f.outcome == journal.Done })
	failed, failedNames := count(func(f fact) bool { return f.outcome == journal.Failed })
	killed, _ := count(func(f fact) bool { return f.outcome == "" || len(f.froms) > 1 })
	damaged, damagedNames := count(func(f fact) bool { return f.damaged })
	_, tagged := count(func(f fact) bool { return f.tag != "" })
	best := slices.MinFunc(list, func(a, b fact) int { return compare(a.loss, b.loss) })
	most := slices.MaxFunc(list, func(a, b fact) int { return len(a.froms) - len(b.froms) })
	waste := list[61]
	kept := 2*runs - damaged
	return []question{
		{"how many runs are there", strconv.Itoa(runs) + " runs",
			func(c *commands) string { return strconv.Itoa(len(c.list)) + " runs" },
			func(p *page) string { return p.text("summary") }},
		{"how many are done", strconv.Itoa(done) + " done",
			func(c *commands) string { return c.count(func(s shown) bool { return s.State == "done" }) + " done" },
			func(p *page) string { return p.text("summary") }},
		{"which runs failed", failedNames,
			func(c *commands) string {
				var names []string
				for _, s := range c.show {
					if s.State == "failed" {
						names = append(names, filepath.Base(s.Run))
					}
				}
				return strings.Join(names, " ")
			},
			func(p *page) string { return p.searched("failed", failed) }},
		{"how many had attempts that were killed", strconv.Itoa(killed) + " had attempts that were killed",
			func(c *commands) string {
				return c.count(func(s shown) bool {
					for _, a := range s.Attempts {
						if strings.HasPrefix(a.State, "killed") {
							return true
						}
					}
					return false
				}) + " had attempts that were killed"
			},
			func(p *page) string { return p.text("summary") }},
		{"which runs have a step that is not whole", damagedNames,
			func(c *commands) string {
				var names []string
				for _, l := range c.list {
					if len(l.Skipped) > 0 {
						names = append(names, filepath.Base(l.Directory))
					}
				}
				return strings.Join(names, " ")
			},
			func(p *page) string { return p.searched("damaged", damaged) }},
		{"how many steps are kept", strconv.Itoa(kept) + " steps are kept",
			func(c *commands) string {
				n := 0
				for _, l := range c.list {
					n += len(l.Steps)
				}
				return strconv.Itoa(n) + " steps are kept"
			},
			func(p *page) string { return p.text("summary") }},
		{"which run has the lowest loss at its end", best.name,
			func(c *commands) string {
				return c.first(func(a, b shown) int { return compare(a.Scalars[0].Value, b.Scalars[0].Value) })
			},
			func(p *page) string { return p.sorted("scalar:loss", false, best.name) }},
		{"which run has the most attempts", most.name,
			func(c *commands) string {
				return c.first(func(a, b shown) int { return len(b.Attempts) - len(a.Attempts) })
			},
			func(p *page) string { return p.sorted("attempts", true, most.name) }},
		{"which run takes the most bytes", list[123].name,
			func(c *commands) string {
				return filepath.Base(slices.MaxFunc(c.list, func(a, b listed) int { return int(bytesOf(a) - bytesOf(b)) }).Directory)
			},
			func(p *page) string { return p.sorted("bytes", true, list[123].name) }},
		{"which run has the tag paper", tagged,
			func(c *commands) string {
				var names []string
				for _, l := range c.list {
					for _, s := range l.Steps {
						if slices.Contains(s.Tags, "paper") {
							names = append(names, filepath.Base(l.Directory))
						}
					}
				}
				return strings.Join(names, " ")
			},
			func(p *page) string { return p.searched("paper", 1) }},
		{"what did the first attempt of run-061 do in vain", fmt.Sprintf("steps 1 to %d (%d superseded)", waste.reached[0], waste.wasteful),
			func(c *commands) string {
				a := c.show[61].Attempts[0]
				return fmt.Sprintf("steps %d to %d (%d superseded)", a.From+1, a.Last, a.Superseded)
			},
			func(p *page) string { return p.opened("run-061", "words", "superseded") }},
		{"why did run-003 fail", "failed: out of memory at step 80",
			func(c *commands) string { a := c.show[3].Attempts[0]; return a.State + ": " + a.Error },
			func(p *page) string { return p.opened("run-003", "timeline", "failed") }},
	}
}

func bytesOf(l listed) (n int64) {
	for _, s := range l.Steps {
		n += s.Bytes
	}
	return n
}

func compare(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// TestCommandsAlone answers what ls says of all runs without a browser.
func TestCommandsAlone(t *testing.T) {
	list := facts()[:10]
	top := makeRuns(t, list)
	out := bivouac(t, "ls", "--jsonl", top)
	if n := bytes.Count(out, []byte(`"directory":"`+top)); n != len(list) {
		t.Errorf("%d runs, want %d: %s", n, len(list), out)
	}
}
