package pipeline_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/pipeline"
)

// killedReader names the reader that a process reads until it is killed; see readUntilKilled.
const killedReader = "BIVOUAC_TEST_READER"

const killedSamples, killedBatches = 53, 14 // two epochs of seven batches

func killedOptions(turn int) pipeline.Options {
	world := 1 + turn%8
	return pipeline.Options{BatchSize: 8, Seed: 13, World: world, Workers: 1 + turn%3, Prefetch: 1 + turn%2}
}

// readUntilKilled reads the data set of a maker with as many ranks as the turn says, from the state
// in a file on. For each batch it prints a line with the number of the batch and its samples, and
// then replaces the state.
func readUntilKilled(name, data, stateFile string, turn int) error {
	reader, args, err := makers()[name](data, killedSamples)
	if err != nil {
		return err
	}
	args = maps.Clone(args)
	args["random_shuffle"] = true
	o := killedOptions(turn)
	ranks := make([]*pipeline.Pipeline, o.World)
	st, err := os.ReadFile(stateFile)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	for r := range ranks {
		o.Rank = r
		d, err := pipeline.Define(o, func(p *pipeline.Builder) []pipeline.Node { return p.Op(reader, args) })
		if err != nil {
			return err
		}
		if ranks[r], err = d.New(context.Background(), nil); err != nil {
			return err
		}
		defer ranks[r].Close()
		if st != nil {
			if err := ranks[r].SetState(st); err != nil {
				return err
			}
		}
	}
	for {
		var samples []string
		number := int64(0)
		for _, p := range ranks {
			b, err := p.Next(context.Background())
			if err != nil {
				return err
			}
			number = b.Epoch*7 + b.Index
			samples = append(samples, samplesOf(b)...)
		}
		if number >= killedBatches {
			return nil
		}
		fmt.Printf("%d %s\n", number, strings.Join(samples, ","))
		if st, err = ranks[0].AppendState(nil); err != nil {
			return err
		}
		if err := os.WriteFile(stateFile+".new", st, 0o600); err != nil {
			return err
		}
		if err := os.Rename(stateFile+".new", stateFile); err != nil {
			return err
		}
	}
}

// killedMain is the process that TestReadersAreKilled kills.
func killedMain(name string) int {
	turn, err := strconv.Atoi(os.Args[3])
	if err == nil {
		err = readUntilKilled(name, os.Args[1], os.Args[2], turn)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// Whenever the process that reads is killed, the next one delivers what the killed one had not
// saved, with another number of ranks, goroutines and batches ahead: for each reader.
func TestReadersAreKilled(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	all := makers()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t.Run(name, func(t *testing.T) {
			reader, args, err := all[name](t.TempDir(), killedSamples)
			if err != nil {
				t.Fatal(err)
			}
			args = maps.Clone(args)
			args["random_shuffle"] = true
			alone := start(t, pipeline.Options{BatchSize: 8, Seed: 13, Workers: 1, Prefetch: pipeline.NoPrefetch},
				func(p *pipeline.Builder) []pipeline.Node { return p.Op(reader, args) })
			var want []string
			for range killedBatches {
				want = append(want, strings.Join(samplesOf(next(t, alone)), ","))
			}
			dir := t.TempDir()
			random := rand.New(rand.NewPCG(7, uint64(len(name))))
			done := make([]bool, killedBatches)
			kills := 0
			for turn := 0; !done[killedBatches-1]; turn++ {
				if turn > 3*killedBatches {
					t.Fatal("it does not come to an end")
				}
				data := filepath.Join(dir, strconv.Itoa(turn))
				if err := os.Mkdir(data, 0o700); err != nil {
					t.Fatal(err)
				}
				c := exec.Command(self, data, filepath.Join(dir, "state"), strconv.Itoa(turn))
				c.Env = append(os.Environ(), killedReader+"="+name)
				var failed strings.Builder
				c.Stderr = &failed
				lines, err := c.StdoutPipe()
				if err != nil {
					t.Fatal(err)
				}
				if err := c.Start(); err != nil {
					t.Fatal(err)
				}
				last, killed := readLines(t, lines, want, done, 2+random.IntN(4), func() {
					time.Sleep(time.Duration(random.IntN(300)) * time.Microsecond)
					c.Process.Kill() //nolint:errcheck // it may have ended
				})
				if err := c.Wait(); err != nil && !killed {
					t.Fatalf("turn %d, after batch %d: %v\n%s", turn, last, err, failed.String())
				}
				if killed {
					kills++
				}
			}
			if i := slices.Index(done, false); i >= 0 {
				t.Errorf("batch %d never came", i)
			}
			if kills == 0 {
				t.Error("no process was killed")
			}
		})
	}
}

// readLines compares the batches that a process prints with those wanted, and kills it after a
// number of them. It returns the last batch, and whether the process was killed.
func readLines(
	t *testing.T, lines io.Reader, want []string, done []bool, after int, kill func(),
) (last int, killed bool) {
	t.Helper()
	last = -1
	in := bufio.NewReader(lines)
	for n := 1; ; n++ {
		line, err := in.ReadString('\n')
		if err != nil {
			return last, killed // a line that was cut off was not saved
		}
		number, samples, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		batch, err := strconv.Atoi(number)
		switch {
		case err != nil || batch >= len(want):
			t.Fatalf("a line %q", line)
		case last >= 0 && batch != last+1:
			t.Fatalf("batch %d came after batch %d", batch, last)
		case last < 0 && (batch > 0 && !done[batch-1] || batch+1 < len(done) && done[batch+1]):
			t.Fatalf("a process begins with batch %d; done is %v", batch, done)
		case samples != want[batch]:
			t.Fatalf("batch %d is\n%s\nnot\n%s", batch, samples, want[batch])
		}
		last, done[batch] = batch, true
		if n == after {
			kill()
			killed = true
		}
	}
}
