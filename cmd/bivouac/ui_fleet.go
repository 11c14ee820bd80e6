//go:build !bivouac_wheel

package main

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/errs"
)

// site answers what the page asks. It looks at the runs that the arguments name, and at nothing
// else.
type site struct {
	args []string
	g    *global
	ctx  context.Context // ends with the server
	stop context.CancelFunc
	work sync.WaitGroup // the scan

	curves    kept[*uiLines]
	histories kept[*uiHistory]
	steps     kept[*uiStep]
	details   kept[*uiRun]
	told      kept[*uiOperators]
	reading   chan struct{} // slots for answers that read arrays
	drawing   chan struct{} // a slot for an answer that draws samples

	mu      sync.Mutex
	known   map[string]bool   // names that may be asked for
	rows    map[string]*uiRow // by run
	order   []string          // of the runs
	scan    chan struct{}     // closed at the end of the scan under way; nil without one
	looked  time.Time         // when the last scan ended
	until   time.Time         // when the next scan may begin
	problem error             // why the last scan could not find the runs
}

// uiRow is what the list of the page says of one run.
type uiRow struct {
	Run        string        `json:"run"`               // the name by which the API knows it
	Name       string        `json:"name"`              // below the argument
	Kind       string        `json:"kind"`              // run or checkpoint
	Pending    bool          `json:"pending,omitempty"` // nobody has looked at it yet
	Error      *failureText  `json:"error,omitempty"`
	State      string        `json:"state"` // as in show --json
	Step       int64         `json:"step"`
	Total      int64         `json:"total,omitempty"`
	Attempts   int           `json:"attempts"`
	Killed     int           `json:"killed"` // attempts without an end, the running one excepted
	Superseded int64         `json:"superseded"`
	Kept       int           `json:"kept"`
	Latest     int64         `json:"latest"` // the newest step that is kept; -1: none
	Committed  *time.Time    `json:"committed,omitempty"`
	Bytes      int64         `json:"bytes"`
	NotWhole   int           `json:"not_whole"`
	SetAside   int           `json:"set_aside"`
	Missing    int           `json:"missing"`
	Damaged    int           `json:"damaged"`  // steps in which the last scrub found damage
	Problems   int           `json:"problems"` // of the journal
	Tags       []string      `json:"tags"`     // TAG@STEP
	Scalars    []shownScalar `json:"scalars"`  // last values, of the newest part of the journal
	Warnings   []string      `json:"warnings"`

	numbers runNumbers
}

// newestJournal is how many bytes of the journal of a run the list reads.
const newestJournal = 2 << 20

// newSite returns a site for the arguments of the command. The caller must close it.
func newSite(ctx context.Context, args []string, g *global) *site {
	ctx, stop := context.WithCancel(ctx)
	return &site{args: args, g: g, ctx: ctx, stop: stop, known: map[string]bool{}, rows: map[string]*uiRow{},
		curves: kept[*uiLines]{most: 4, now: time.Now}, histories: kept[*uiHistory]{most: 8, now: time.Now},
		steps: kept[*uiStep]{most: 2, now: time.Now}, details: kept[*uiRun]{most: 16, now: time.Now},
		told: kept[*uiOperators]{most: 16, now: time.Now}, reading: make(chan struct{}, 2), drawing: make(chan struct{}, 1)}
}

// close ends the work in the background.
func (s *site) close() {
	s.stop()
	s.work.Wait()
}

// listens returns a global for one look, and the warnings that it gets.
func (s *site) listens() (*global, func() []string) {
	var heard bytes.Buffer
	g := &global{stdout: io.Discard, stderr: &locked{w: &heard}, plain: true, quiet: true, stepPrefix: s.g.stepPrefix,
		unsafeSingleWriter: s.g.unsafeSingleWriter}
	return g, func() []string {
		out := []string{}
		for line := range strings.Lines(heard.String()) {
			out = append(out, strings.TrimPrefix(strings.TrimSuffix(line, "\n"), "bivouac: warning: "))
		}
		return out
	}
}

// find looks for the runs that the arguments name, and returns how many there are.
func (s *site) find(ctx context.Context) (int, error) {
	list, err := findNamed(ctx, s.args)
	if err != nil {
		return 0, err
	}
	if len(list) == 1 && list[0].err != nil {
		return 0, list[0].err
	}
	for _, t := range list {
		if is, err := place(t.path).isDirectory(ctx); err != nil || !is && !checkpoint.IsCheckpoint(ctx, t.path, nil) {
			if len(list) == 1 {
				return 0, cmp.Or(err, noCheckpoint(ctx, t.path))
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.order = s.order[:0:0]
	gone := s.known
	s.known = map[string]bool{}
	for _, t := range list {
		s.order = append(s.order, t.path)
		s.known[t.path] = true
		delete(gone, t.path)
		if row := s.rows[t.path]; row == nil {
			s.rows[t.path] = &uiRow{Run: t.path, Name: cmp.Or(t.below, t.path), Pending: true, Latest: -1, Tags: []string{},
				Scalars: []shownScalar{}, Warnings: []string{}}
		}
		if t.err != nil {
			failed := newFailureText(t.err)
			s.rows[t.path].Pending, s.rows[t.path].Error = false, &failed
		}
	}
	maps.DeleteFunc(s.rows, func(name string, _ *uiRow) bool { return gone[name] })
	return len(list), nil
}

// ask returns the run that a request names.
func (s *site) ask(name string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.known[name] {
		return "", &errs.Error{Kind: errs.NotFound, Op: "ui", Subject: "run " + strconv.Quote(name),
			Want: "one of the " + strconv.Itoa(len(s.known)) + " runs that the arguments name"}
	}
	return name, nil
}

// leastScan is the shortest time between two scans.
const leastScan = 3 * time.Second

// begin begins a scan of all runs unless one is under way or the last one is recent. It returns a
// channel that is closed at the end of the scan, or nil.
func (s *site) begin() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.scan != nil || time.Now().Before(s.until) || s.ctx.Err() != nil {
		return s.scan
	}
	done := make(chan struct{})
	s.scan = done
	s.work.Go(func() {
		began := time.Now()
		err := s.look(s.ctx)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.looked, s.problem, s.scan = time.Now(), err, nil
		s.until = s.looked.Add(max(leastScan, keptTimes*s.looked.Sub(began)))
		close(done)
	})
	return done
}

// look looks at all runs.
func (s *site) look(ctx context.Context) error {
	if _, err := s.find(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	var list []named
	for _, name := range s.order {
		list = append(list, named{path: name})
	}
	s.mu.Unlock()
	return each(ctx, (&parallel{}).jobs(), list, func(ctx context.Context, t named) (*uiRow, error) {
		return s.row(ctx, t.path), nil
	}, func(t named, row *uiRow, _ error) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if old := s.rows[t.path]; old != nil {
			row.Name = old.Name
			s.rows[t.path] = row
		}
		return nil
	})
}

// row looks at one run.
func (s *site) row(ctx context.Context, dir string) *uiRow {
	g, warnings := s.listens()
	r := &uiRow{Run: dir, Kind: "run", Latest: -1, Tags: []string{}, Scalars: []shownScalar{}}
	err := r.look(ctx, dir, g)
	if err != nil {
		failed := newFailureText(err)
		r.Error = &failed
	}
	r.Warnings = warnings()
	return r
}

func (r *uiRow) look(ctx context.Context, dir string, g *global) error {
	listed, err := listRun(ctx, dir, g)
	if err != nil && (errs.KindOf(err) != errs.NotFound || !hasJournal(ctx, dir)) {
		return err
	}
	if err == nil {
		r.list(listed)
	}
	if checkpoint.IsCheckpoint(ctx, dir, nil) {
		r.Kind = "checkpoint"
		return nil
	}
	t := teller{dir: dir, g: g, most: newestJournal}
	told, err := t.look(ctx)
	if err != nil {
		return err
	}
	r.State, r.Step, r.Total, r.Attempts = told.State, told.Step, told.Steps, len(told.Attempts)
	for _, a := range told.Attempts {
		r.Superseded += a.Superseded
		if strings.HasPrefix(a.State, "killed") {
			r.Killed++
		}
	}
	r.Problems, r.Scalars = len(told.Problems), told.Scalars
	return nil
}

// list takes what the listing of a run says.
func (r *uiRow) list(l *listing) {
	n := l.numbers()
	r.numbers = n
	r.Kept, r.Bytes, r.NotWhole, r.SetAside, r.Damaged = n.steps, n.bytes, n.notWhole, n.aside, n.damaged
	r.Missing = len(l.Missing)
	if n.latest != nil {
		latest := *n.latest // the listing goes
		r.numbers.latest = &latest
		r.Latest, r.Committed = latest.Step, &latest.Committed
	}
	for _, step := range l.Steps {
		for _, tag := range step.Tags {
			r.Tags = append(r.Tags, tag+"@"+strconv.FormatInt(step.Step, 10))
		}
	}
	slices.Sort(r.Tags)
}

// hasJournal reports whether a directory has a journal: a run that has not saved yet is a run.
func hasJournal(ctx context.Context, dir string) bool {
	t := teller{dir: dir}
	return t.refresh(ctx) == nil && len(t.journal.Attempts()) > 0
}
