package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/bivouac-ml/bivouac/internal/recording"
	"github.com/bivouac-ml/bivouac/record"
)

// crashJob is the command "crashjob MODE DIR KILLS" of scripts. It trains 60 steps of 2 samples and
// saves every 5 steps. MODE says what it does wrong. Each of the first KILLS starts of a killed
// run waits for its kill before the end, so a busy machine changes nothing.
func crashJob() {
	kills := 0
	if len(os.Args) > 3 {
		kills, _ = strconv.Atoi(os.Args[3])
	}
	records := os.Getenv(recording.Variable)
	number, _ := strconv.Atoi(filepath.Base(records)) // of the start
	wait := strings.Contains(records, "/killed/") && number <= kills
	if err := trainCrashJob(os.Args[1], os.Args[2], wait); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// crashState is what the job saves.
type crashState struct {
	Step, Position, Weights, Momentum int64
}

func trainCrashJob(mode, dir string, wait bool) error {
	const steps, batch, every = 60, 2, 5
	var s crashState
	file := filepath.Join(dir, "state.json")
	text, err := os.ReadFile(file)
	resumed := err == nil
	if resumed {
		if err := json.Unmarshal(text, &s); err != nil {
			return err
		}
		switch mode {
		case "loses":
			s.Position += 3
		case "repeats":
			s.Position -= 4
		case "forgets":
			s.Momentum = 0
		case "hangs":
			time.Sleep(time.Hour)
		case "fails":
			return fmt.Errorf("cannot read the checkpoint of step %d", s.Step)
		}
	}
	if mode == "told" {
		if err := record.Resumed(s.Step); err != nil {
			return err
		}
	}
	if mode == "broken" {
		return fmt.Errorf("no data")
	}
	if mode == "leaves" {
		if err := exec.Command("sleep", "3600").Start(); err != nil {
			return err
		}
	}
	if mode == "deaf" {
		signal.Ignore(syscall.SIGTERM)
	}
	term := make(chan os.Signal, 1)
	if mode == "polite" {
		signal.Notify(term, syscall.SIGTERM)
	}
	for s.Step < steps {
		time.Sleep(4 * time.Millisecond)
		if s.Step == 58 && wait {
			select {
			case sent := <-term:
				term <- sent
			case <-time.After(time.Minute):
			}
		}
		if s.Step == 9 && mode == "idles" {
			time.Sleep(time.Hour)
		}
		var ids []int64
		for range batch {
			ids = append(ids, s.Position%1000)
			s.Position++
			s.Momentum = s.Momentum/2 + s.Position*s.Position
			s.Weights += s.Momentum
		}
		if mode == "shuffles" && resumed {
			ids[0], ids[1] = ids[1], ids[0]
		}
		if mode == "random" {
			s.Weights += time.Now().UnixNano()
		}
		s.Step++
		number := s.Step
		if mode == "told" || mode == "unnumbered" {
			number = -1
		}
		if mode != "silent" {
			o := &record.Options{Loss: []float64{1 / float64(s.Step)}}
			if err := record.Step(number, ids, map[string]any{"w": []int64{s.Weights}, "m": s.Momentum}, o); err != nil {
				return err
			}
		}
		if mode == "circles" && resumed {
			s.Step--
			continue
		}
		if s.Step%every == 0 || len(term) > 0 {
			text, err := json.Marshal(s)
			if err != nil {
				return err
			}
			if err := os.WriteFile(file+".tmp", text, 0o666); err != nil {
				return err
			}
			if err := os.Rename(file+".tmp", file); err != nil {
				return err
			}
			if len(term) > 0 {
				os.Exit(exitPreempted)
			}
		}
	}
	return nil
}
