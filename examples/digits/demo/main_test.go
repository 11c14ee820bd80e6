package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/bivouac-ml/bivouac/errs"
)

// A child of these tests is this binary again, with one of these behaviours.
// All but the real one only announce what a training would.
const behaviourVar = "BIVOUAC_TEST_CHILD"

const (
	honest    = "honest"    // carries on after what it committed
	forgetful = "forgetful" // begins from zero
	lagging   = "lagging"   // carries on before what it committed
	drifting  = "drifting"  // does a step again with another result
	failing   = "failing"   // announces an error
	silent    = "silent"    // ends without a result
	real      = "real"      // trains
)

func TestMain(m *testing.M) {
	if b := os.Getenv(behaviourVar); b != "" {
		if err := pretend(b, os.Args[len(os.Args)-1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// childOf returns the command of a child with a behaviour.
func childOf(behaviour string) Command {
	return func(ctx context.Context, training string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, os.Args[0], training)
		cmd.Env = append(os.Environ(), behaviourVar+"="+behaviour)
		return cmd
	}
}

// pretend announces the events of a training whose commits are files.
func pretend(behaviour, training string) error {
	var t Training
	if err := json.Unmarshal([]byte(training), &t); err != nil {
		return err
	}
	send := func(e Event) error {
		b, err := json.Marshal(e)
		if err != nil {
			return err
		}
		_, err = os.Stdout.Write(append(b, '\n'))
		return err
	}
	if behaviour == real {
		return Serve(context.Background(), t, os.Stdout, os.Stdin)
	}
	committed := filepath.Join(t.Run, "committed")
	var step int64
	if b, err := os.ReadFile(committed); err == nil && behaviour != forgetful {
		if step, err = strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err != nil {
			return err
		}
		if behaviour == lagging {
			step -= t.SaveEvery
		}
		if err := send(Event{Kind: Resumed, Step: step}); err != nil {
			return err
		}
	}
	switch behaviour {
	case failing:
		return send(Event{Kind: Failed, Text: "no more digits", Error: errs.Corrupt})
	case silent:
		return nil
	}
	for step < t.Steps {
		step++
		e := calmStep(step)
		if behaviour == drifting && step%t.SaveEvery == 1 {
			e.Loss += float32(os.Getpid())
		}
		if err := send(e); err != nil {
			return err
		}
		if _, err := io.ReadFull(os.Stdin, make([]byte, 1)); err != nil {
			return err
		}
		if step%t.SaveEvery != 0 {
			continue
		}
		if err := send(Event{Kind: SaveBegin, Step: step}); err != nil {
			return err
		}
		if err := os.WriteFile(committed+".new", []byte(strconv.FormatInt(step, 10)), 0o666); err != nil {
			return err
		}
		if err := os.Rename(committed+".new", committed); err != nil {
			return err
		}
		if err := send(Event{Kind: Committed, Step: step}); err != nil {
			return err
		}
	}
	return send(Event{Kind: Done, Step: step, State: "s"})
}

// calmStep is the event of a step as the uninterrupted training has it.
func calmStep(step int64) Event {
	return Event{Kind: StepDone, Step: step, Loss: 1 / float32(step), Order: fmt.Sprint(step * 7), Pixels: fmt.Sprint(step * 11)}
}

// quiet is a Screen that keeps the lines.
type quiet struct{ lines strings.Builder }

func (*quiet) Begin(string, int64)   {}
func (*quiet) Advance(int64, string) {}
func (*quiet) End()                  {}
func (q *quiet) Printf(format string, args ...any) {
	fmt.Fprintf(&q.lines, format, args...)
}
