// Cluster trains a small model with several processes, which save it together.
//
//	go run ./examples/cluster -run /tmp/run -coordinator /tmp/run.cluster -rank 0 -world 2 &
//	go run ./examples/cluster -run /tmp/run -coordinator /tmp/run.cluster -rank 1 -world 2
//
// Rank, world and coordinator may come from the environment: see cluster.FromEnvironment. Run and
// coordinator may be URLs: s3://bucket/run, etcd://host:2379/run. With -check the program computes
// what the newest step of a run must be, alone and from the beginning, and compares.
//
// Kill processes, stop them by SIGTERM, and start any number of them again: the weights and the
// order of the samples at the end are the same.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/bivouac-ml/bivouac"
	"github.com/bivouac-ml/bivouac/cluster"
	_ "github.com/bivouac-ml/bivouac/cluster/etcd" // knows etcd://
	_ "github.com/bivouac-ml/bivouac/cluster/s3"   // knows s3://
)

func main() {
	err := start(context.Background(), os.Args[1:], os.Getenv, os.Stdout)
	switch {
	case errors.Is(err, errPreempted):
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(bivouac.ExitPreempted) // the launcher starts the program again
	case err != nil:
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

// settings of a run. All processes need the same, except rank.
type settings struct {
	run, coordinator string
	member           cluster.Options
	steps, saveEvery int64
	samples          int64
	batch            int // over all ranks
	seed             uint64
	pause            time.Duration // in each step
}

// start reads the flags and the environment, and trains or checks.
func start(ctx context.Context, args []string, getenv func(string) string, out io.Writer) error {
	found, err := cluster.FromEnvironment(getenv)
	if err != nil {
		return err
	}
	var s settings
	f := flag.NewFlagSet("cluster", flag.ContinueOnError)
	f.StringVar(&s.run, "run", "", "directory or URL of the steps")
	f.StringVar(&s.coordinator, "coordinator", found.Coordinator, "directory or URL where the processes meet")
	f.IntVar(&s.member.Rank, "rank", found.Rank, "number of this process")
	f.IntVar(&s.member.World, "world", found.World, "number of processes")
	f.StringVar(&s.member.Job, "job", found.Job, "name of the job")
	f.StringVar(&s.member.Host, "host", found.Host, "name of this machine in messages")
	f.DurationVar(&s.member.Lease, "lease", 0, "how long a silent process keeps its rank")
	f.DurationVar(&s.member.Deadline, "deadline", 0, "how long to wait for other processes")
	f.Int64Var(&s.steps, "steps", 200, "steps in all")
	f.Int64Var(&s.saveEvery, "save-every", 20, "steps from one save to the next")
	f.Int64Var(&s.samples, "samples", 1200, "samples of the data set, a multiple of batch")
	f.IntVar(&s.batch, "batch", 60, "samples of a step, of all processes together")
	f.Uint64Var(&s.seed, "seed", 7, "of the data and its order")
	f.DurationVar(&s.pause, "pause", 0, "to sleep in each step")
	check := f.Bool("check", false, "compute the newest step of -run anew, and compare")
	if err := f.Parse(args); err != nil {
		return err
	}
	switch {
	case s.run == "":
		return errors.New("give a directory or URL with -run")
	case s.steps < 1 || s.saveEvery < 1 || s.batch < 1 || s.samples < int64(s.batch) || s.samples%int64(s.batch) != 0:
		return errors.New("-steps, -save-every and -batch must be at least 1, and -samples a multiple of -batch")
	}
	if *check {
		return recompute(ctx, s, out)
	}
	s.member.Terms = map[string]string{
		"run": s.run, "steps": fmt.Sprint(s.steps), "save-every": fmt.Sprint(s.saveEvery), "samples": fmt.Sprint(s.samples),
		"batch": fmt.Sprint(s.batch), "seed": fmt.Sprint(s.seed),
	}
	m, err := cluster.Open(ctx, s.coordinator, s.member)
	if err != nil {
		return err
	}
	err = train(ctx, m, s, out)
	return errors.Join(err, m.Close())
}
