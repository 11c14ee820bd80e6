// Mutate shows that the tests test what reliability rests on.
//
// From the source it derives the sites of the save and verify paths:
//
//	sync      calls of Sync and SyncDir
//	checksum  comparisons with a checksum, and checks of the error of a function that makes one
//	damage    checks whose outcome is that bytes are damaged or missing
//	error     checks of an error on the commit path
//	order     pairs of steps of which one must come before the other
//	decision  conditions of a job and of the protocols over a bucket and over a board, which
//	          never hold, or always, and operands that play no part
//
// Which functions are looked at follows from what they call, not from the file
// they stand in; a site is named by its function and what stands there, so that
// code may move within its package. One that went to another package unchanged is
// found again by the rest of its name.
//
// Each site is removed in turn, and a test must fail. All mutants are compiled
// together: at each site the code asks whether it is one that is switched off, so
// that a test binary is built once and run for each mutant. The sources are
// replaced for the compiler only (go test -overlay); the tree stays as it is.
//
// sites.txt lists every site with the test that killed it last, which is tried
// first, after it has passed unchanged. Only where that does not fail other tests are
// run: each by itself says which sites it reaches and how long it takes, once a mutant
// asks, and the mutant is tried with those that reach it until one fails. A site is
// reached where its removal would make a difference: an error check when there is an
// error, a comparison when it does not hold. The tests of each package also run
// together with all sites off that the list excuses; those that fail then are tried
// with each of these sites by itself.
//
// A test that runs past its time limit (20 seconds and five times what it takes) does
// not kill a mutant: the machine may have been busy. It is told as killed by time, and
// accepted where the list says that the mutant is a loop that does not end.
//
// The command fails when
//
//   - a mutant survives that the list does not excuse, with a reason, or is killed by
//     time alone and the list does not say endless. Sites that are open in the list, which
//     no test kills yet, are tried with -open only;
//   - the list excuses one that a test kills, or lists a site that is gone;
//   - the source has a site that the list does not know: -update adds it, once
//     its mutant was killed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
)

type options struct {
	root    string // of the tree that is copied
	list    string
	only    *regexp.Regexp
	tests   *regexp.Regexp // that are run, by package and name
	skip    *regexp.Regexp // sites to leave out; nil: leave out nothing
	pkgs    *regexp.Regexp // whose tests are compiled
	fresh   bool           // only sites that the list does not know
	open    bool           // also sites that are open in the list
	shard   int            // this one, from 0
	shards  int            // the number of shards
	jobs    int
	update  bool
	print   bool
	verbose bool
}

func main() {
	o, err := parse(os.Args[1:])
	if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		err = run(ctx, o)
		stop()
	}
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

func parse(args []string) (*options, error) {
	o := &options{}
	f := flag.NewFlagSet("mutate", flag.ContinueOnError)
	f.StringVar(&o.root, "root", ".", "`directory` of the module")
	f.StringVar(&o.list, "list", "", "`file` with the sites; default tools/mutate/sites.txt below root")
	only := f.String("only", "", "only sites whose line matches this `expression`")
	tests := f.String("tests", "", "only tests whose package and name match this `expression`: survivors prove nothing then")
	skip := f.String("skip", "", "no tests whose package and name match this `expression`, such as slow ones: the same")
	pkgs := f.String("packages", "", "only tests of packages that match this `expression`, relative to the module; no others are compiled: the same")
	f.BoolVar(&o.fresh, "new", false, "only sites that the list does not know")
	f.BoolVar(&o.open, "open", false, "also the sites that are open in the list, each with all tests that reach it")
	shard := f.String("shard", "0/1", "only this part of the sites: `i/n`, i from 0")
	f.IntVar(&o.jobs, "j", runtime.GOMAXPROCS(0), "tests and mutants tried at a time")
	f.BoolVar(&o.update, "update", false, "rewrite the list: add new sites that were killed, drop those that are gone")
	f.BoolVar(&o.print, "print", false, "print the chosen sites and do nothing else")
	f.BoolVar(&o.verbose, "v", false, "print the test that killed each mutant")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if f.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	var err error
	if o.only, err = regexp.Compile(*only); err != nil {
		return nil, err
	}
	if o.tests, err = regexp.Compile(*tests); err != nil {
		return nil, err
	}
	if *skip != "" {
		if o.skip, err = regexp.Compile(*skip); err != nil {
			return nil, err
		}
	}
	if o.pkgs, err = regexp.Compile(*pkgs); err != nil {
		return nil, err
	}
	i, n, _ := strings.Cut(*shard, "/")
	a, errA := strconv.Atoi(i)
	b, errB := strconv.Atoi(n)
	if errA != nil || errB != nil || a < 0 || a >= b {
		return nil, fmt.Errorf("-shard %s: want i/n with 0 ≤ i < n", *shard)
	}
	o.shard, o.shards = a, b
	if o.list == "" {
		o.list = o.root + "/tools/mutate/sites.txt"
	}
	return o, nil
}

func run(ctx context.Context, o *options) error {
	start := time.Now()
	sites, err := find(o.root)
	if err != nil {
		return err
	}
	known, err := readList(o.list)
	if err != nil {
		return err
	}
	known.match(sites)
	var chosen []*site
	for i, s := range sites {
		if _, listed := known.known[s.ID()]; o.fresh && listed {
			continue
		}
		if !o.open && known.entry(s).open != "" {
			continue
		}
		if i%o.shards == o.shard && o.only.MatchString(s.ID()) {
			chosen = append(chosen, s)
		}
	}
	if o.print {
		for _, s := range chosen {
			fmt.Println(s.ID())
		}
		return nil
	}
	fmt.Printf("%d sites (%s), %d chosen\n", len(sites), count(sites), len(chosen))
	w, err := compile(ctx, o.root, sites, o.pkgs)
	if err != nil {
		return err
	}
	defer w.remove()
	t := &trial{suite: w, known: known, runs: o.runs, jobs: o.jobs, report: reporter(len(chosen), o.verbose)}
	err = t.try(ctx, chosen)
	if o.update { // also what is known when it was interrupted
		err = errors.Join(err, known.update(sites, chosen))
	}
	if err != nil {
		return err
	}
	problems := append(t.broken(), known.judge(sites, chosen)...)
	for _, p := range problems {
		fmt.Println(p)
	}
	fmt.Printf("%s in %s\n", verdicts(chosen, known), time.Since(start).Round(time.Second))
	if len(problems) > 0 {
		return fmt.Errorf("%d problems", len(problems))
	}
	return nil
}

// reporter returns the function that prints sites as they are decided: the survivors, a count at
// intervals, or all.
func reporter(of int, all bool) func(*site) {
	var mu sync.Mutex
	done := 0
	return func(s *site) {
		mu.Lock()
		defer mu.Unlock()
		done++
		if all || !s.killed || done%25 == 0 {
			fmt.Printf("%4d/%d %s\n", done, of, s.outcome())
		}
	}
}

// runs reports whether a test, by its name, is run.
func (o *options) runs(test string) bool {
	return o.tests.MatchString(test) && (o.skip == nil || !o.skip.MatchString(test))
}

// count says how many sites there are of each kind.
func count(sites []*site) string {
	n := map[kind]int{}
	for _, s := range sites {
		n[s.kind]++
	}
	var parts []string
	for _, k := range kinds {
		parts = append(parts, fmt.Sprintf("%d %s", n[k], k))
	}
	return strings.Join(parts, ", ")
}
