package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac"
	"github.com/bivouac-ml/bivouac/cluster/etcd/etcdtest"
	"github.com/bivouac-ml/bivouac/store/object/s3/s3test"
)

// isTrainer tells the test binary to be the program.
const isTrainer = "BIVOUAC_CLUSTER_EXAMPLE"

func TestMain(m *testing.M) {
	if os.Getenv(isTrainer) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// job starts processes of the program.
type job struct {
	*testing.T
	run, coordinator string
	name             string
	env, more        []string // of the processes, and flags
}

// process is a running process.
type process struct {
	cmd   *exec.Cmd
	lines chan string
	said  strings.Builder
	errs  strings.Builder
	ended chan struct{}
	code  int
	mu    sync.Mutex
}

func (j *job) command(args ...string) *exec.Cmd {
	c := exec.Command(os.Args[0], args...)
	c.Env = append(append(os.Environ(), isTrainer+"=1", "GOCOVERDIR="+j.TempDir()), j.env...)
	return c
}

// start starts all processes of a world.
func (j *job) start(world int) []*process {
	j.Helper()
	all := make([]*process, world)
	for rank := range world {
		p := &process{lines: make(chan string, 1000), ended: make(chan struct{})}
		p.cmd = j.command("-run", j.run, "-coordinator", j.coordinator, "-job", j.name,
			"-host", fmt.Sprintf("node-%c", 'a'+rank), "-rank", strconv.Itoa(rank), "-world", strconv.Itoa(world),
			"-lease", "2s", "-deadline", "6s", "-pause", "10ms")
		p.cmd.Args = append(p.cmd.Args, j.more...)
		out, err := p.cmd.StdoutPipe()
		if err != nil {
			j.Fatal(err)
		}
		p.cmd.Stderr = &p.errs
		if err := p.cmd.Start(); err != nil {
			j.Fatal(err)
		}
		go p.follow(out)
		j.Cleanup(func() {
			p.cmd.Process.Kill() //nolint:errcheck // it has ended
			<-p.ended
		})
		all[rank] = p
	}
	return all
}

func (p *process) follow(out io.Reader) {
	defer close(p.ended)
	s := bufio.NewScanner(out)
	for s.Scan() {
		p.mu.Lock()
		fmt.Fprintln(&p.said, s.Text())
		p.mu.Unlock()
		p.lines <- s.Text()
	}
	close(p.lines)
	p.cmd.Wait() //nolint:errcheck // the exit code says it
	p.code = p.cmd.ProcessState.ExitCode()
}

// output returns what the process has said so far.
func (p *process) output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.said.String()
}

var committed = regexp.MustCompile(`committed step (\d+)`)

// until waits until a process has said that a step is committed.
func (j *job) until(p *process, step int) {
	j.Helper()
	late := time.After(3 * time.Minute)
	for {
		select {
		case line, ok := <-p.lines:
			if !ok {
				<-p.ended
				j.Fatalf("the process ended with %d before step %d:\n%s%s", p.code, step, p.said.String(), p.errs.String())
			}
			if m := committed.FindStringSubmatch(line); m != nil {
				if n, _ := strconv.Atoi(m[1]); n >= step { //nolint:errcheck // digits
					return
				}
			}
		case <-late:
			j.Fatalf("no step %d is committed:\n%s", step, p.output())
		}
	}
}

// end waits for the processes, and checks their exit codes.
func (j *job) end(all []*process, codes ...int) {
	j.Helper()
	for rank, p := range all {
		go func() {
			for range p.lines { //nolint:revive // nobody reads them
			}
		}()
		select {
		case <-p.ended:
		case <-time.After(4 * time.Minute):
			p.cmd.Process.Kill() //nolint:errcheck // it may have ended now
			<-p.ended
			j.Fatalf("rank %d does not end:\n%s%s", rank, p.said.String(), p.errs.String())
		}
		if want := codes[min(rank, len(codes)-1)]; p.code != want {
			j.Fatalf("rank %d ended with %d, want %d:\n%s%s", rank, p.code, want, p.said.String(), p.errs.String())
		}
	}
}

var final = regexp.MustCompile(`final step (\d+) weights (\w+) order (\w+)`)

// result returns what all processes have printed at the end.
func (j *job) result(all []*process) string {
	j.Helper()
	first := ""
	for rank, p := range all {
		m := final.FindStringSubmatch(p.said.String())
		if m == nil || first != "" && first != m[0] {
			j.Fatalf("rank %d: %s, want %s", rank, p.said.String(), first)
		}
		first = m[0]
	}
	return strings.TrimPrefix(first, "final ")
}

// recomputed returns what another program reads in the run, after it has computed the same anew.
func (j *job) recomputed() string {
	j.Helper()
	c := j.command("-check", "-run", j.run)
	out, err := c.Output()
	if err != nil {
		var e *exec.ExitError
		if errors.As(err, &e) {
			j.Fatalf("%v: %s%s", err, out, e.Stderr)
		}
		j.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// demo runs a job that nobody interrupts, and one of which a process is killed, then one is told to
// stop, with 4, 3 and 5 processes. It prints what they came to.
func demo(t *testing.T, run, coordinator func(name string) string, killed int, env ...string) {
	began := time.Now()
	calm := &job{T: t, run: run("calm"), coordinator: coordinator("calm"), name: "calm", env: env}
	all := calm.start(4)
	calm.end(all, 0)
	want := calm.result(all)

	j := &job{T: t, run: run("rough"), coordinator: coordinator("rough"), name: "rough", env: env}
	all = j.start(4)
	j.until(all[1], 40)
	if err := all[killed].cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	codes := []int{1, 1, 1, 1}
	codes[killed] = -1
	j.end(all, codes...)
	name := fmt.Sprintf("rank %d on node-%c", killed, 'a'+killed)
	for rank, p := range all {
		if rank != killed && !strings.Contains(p.errs.String(), name) {
			t.Errorf("rank %d does not name %s: %s", rank, name, p.errs.String())
		}
	}
	killedAfter := j.recomputed()

	all = j.start(3)
	j.until(all[0], 100)
	if err := all[1].cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	j.end(all, bivouac.ExitPreempted)
	stoppedAfter := j.recomputed()

	all = j.start(5)
	j.end(all, 0)
	got := j.result(all)
	again := j.recomputed()
	verdict := func(s string) string {
		if s == want {
			return "equal"
		}
		return "DIFFERENT"
	}
	fmt.Printf("\n%-48s %s\n", "4 processes, uninterrupted", want)
	fmt.Printf("%-48s %s\n", fmt.Sprintf("4 processes, rank %d killed by SIGKILL after", killed), killedAfter)
	fmt.Printf("%-48s %s\n", "3 processes, rank 1 stopped by SIGTERM at", stoppedAfter)
	fmt.Printf("%-48s %s  %s\n", "5 processes, to the end", got, verdict(got))
	fmt.Printf("%-48s %s  %s\n", "recomputed by another program from the run", again, verdict(again))
	fmt.Printf("%-48s %.0f s\n\n", "", time.Since(began).Seconds())
	if got != want || again != want {
		t.Errorf("want %s, got %s and %s", want, got, again)
	}
}

// The primary process is the one that is killed, in a directory.
func TestDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	demo(t, func(name string) string { return filepath.Join(dir, name) },
		func(name string) string { return filepath.Join(dir, name+".cluster") }, 0)
}

// credentials are the environment of a program that uses the server.
func credentials(s *s3test.Server) []string {
	return []string{"AWS_ACCESS_KEY_ID=" + s.Access, "AWS_SECRET_ACCESS_KEY=" + s.Secret, "AWS_REGION=us-east-1"}
}

// The same with a bucket of a real S3 server, and a real etcd.
func TestClusterDemo(t *testing.T) {
	if testing.Short() {
		t.Skip("TestDirectory does the same with less")
	}
	t.Parallel()
	etcd := etcdtest.Start(t)
	store := s3test.Start(t)
	url := store.Bucket(t, "demo")
	demo(t, func(name string) string { return strings.Replace(url, "?", "/runs/"+name+"?", 1) },
		func(name string) string { return etcd.URL("jobs/" + name) }, 2, credentials(store)...)
}

// Run and board share a bucket, and a directory of it.
func TestInOneBucket(t *testing.T) {
	if testing.Short() {
		t.Skip("it needs a server")
	}
	t.Parallel()
	store := s3test.Start(t)
	url := store.Bucket(t, "demo")
	in := func(name string) string { return strings.Replace(url, "?", "/"+name+"?", 1) }
	j := &job{T: t, run: in("run"), coordinator: in("run/.cluster"), name: "one", env: credentials(store),
		more: []string{"-steps", "40"}}
	for range 2 { // the second finds nothing left to do
		all := j.start(2)
		j.end(all, 0)
		if got := j.recomputed(); got != j.result(all) {
			t.Errorf("%s, want %s", got, j.result(all))
		}
	}
}

// What makes no sense is said before anything begins.
func TestMistakes(t *testing.T) {
	none := func(string) string { return "" }
	for args, want := range map[string]string{
		"":                            "-run",
		"-run x -samples 100":         "multiple of -batch",
		"-run x -steps 0":             "at least 1",
		"-run x -rank 2 -world 1":     "Options.Rank",
		"-run x -rank 0 -world 2":     "the board of a job of 2 processes",
		"-run x -coordinator nope://": "whose scheme this program knows: etcd, file, s3",
		"-check -run " + t.TempDir():  "has no step",
	} {
		err := start(context.Background(), strings.Fields(args), none, io.Discard)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", args, err)
		}
	}
	if err := start(context.Background(), nil, func(n string) string {
		return map[string]string{"RANK": "3", "WORLD_SIZE": "2"}[n]
	}, io.Discard); err == nil || !strings.Contains(err.Error(), "WORLD_SIZE") {
		t.Error(err)
	}
}
