package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// request is what a contender's process is asked to do.
type request struct {
	Op     string `json:"op"`
	Who    string `json:"who,omitempty"`
	Config string `json:"config,omitempty"`
	Tree   string `json:"tree,omitempty"`
	MiB    int    `json:"mib,omitempty"`
	Path   string `json:"path,omitempty"`
}

// answer is what it did, by its own clock and counters.
type answer struct {
	Seconds  float64           `json:"seconds"`
	Peak     int64             `json:"peak"`    // bytes of resident memory, beyond what was there before
	Read     int64             `json:"read"`    // bytes, by system calls; what is mapped does not count
	Written  int64             `json:"written"` // bytes, by system calls
	Alloc    int64             `json:"alloc"`   // bytes of the Go heap, of Bivouac only
	Disk     int64             `json:"disk"`    // size of the files
	Skip     string            `json:"skip,omitempty"`
	Error    string            `json:"error,omitempty"`
	Versions map[string]string `json:"versions,omitempty"`
}

// child is the process of one contender.
type child struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	log *strings.Builder // the end of what it complained about
}

// start runs a contender's process: this program again, or peers.py.
func start(env []string, name string, args ...string) (*child, error) {
	c := &child{cmd: exec.Command(name, args...), log: &strings.Builder{}}
	c.cmd.Env = append(os.Environ(), env...)
	c.cmd.Stderr = c.log
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.out = bufio.NewReader(out)
	return c, c.cmd.Start()
}

const answerPrefix = "ANSWER "

// ask sends a request and waits for the answer.
func (c *child) ask(r request) (answer, error) {
	var a answer
	line, err := json.Marshal(r)
	if err != nil {
		return a, err
	}
	if _, err := c.in.Write(append(line, '\n')); err != nil {
		return a, c.lost(err)
	}
	for {
		line, err := c.out.ReadString('\n')
		if err != nil {
			return a, c.lost(err)
		}
		if text, ok := strings.CutPrefix(line, answerPrefix); ok {
			if err := json.Unmarshal([]byte(text), &a); err != nil {
				return a, err
			}
			if a.Error != "" {
				return a, errors.New(a.Error)
			}
			return a, nil
		}
	}
}

// lost says why a process is gone.
func (c *child) lost(err error) error {
	text := strings.TrimSpace(c.log.String())
	if i := strings.LastIndexByte(text, '\n'); i >= 0 {
		text = text[i+1:]
	}
	return fmt.Errorf("its process ended: %w: %s", err, text)
}

func (c *child) close() error {
	return errors.Join(c.in.Close(), c.cmd.Wait())
}
