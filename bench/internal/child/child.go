// Package child runs the sides of a comparison as processes of their own. A side
// reads one request a line (JSON) and answers with one line that begins with
// "ANSWER "; whatever else it prints is passed over. It times itself, so that
// neither its start nor the way to it counts.
package child

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

// Process is one side.
type Process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	log *strings.Builder // what it complained about
}

// Start runs a program with env added to the environment. Close must be called.
func Start(env []string, name string, args ...string) (*Process, error) {
	c := &Process{cmd: exec.Command(name, args...), log: &strings.Builder{}}
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

const prefix = "ANSWER "

// Ask sends a request and decodes the answer. An answer with a field "error"
// that is not empty becomes that error.
func (c *Process) Ask(request, answer any) error {
	line, err := json.Marshal(request)
	if err != nil {
		return err
	}
	if _, err := c.in.Write(append(line, '\n')); err != nil {
		return c.lost(err)
	}
	for {
		line, err := c.out.ReadString('\n')
		if err != nil {
			return c.lost(err)
		}
		text, ok := strings.CutPrefix(line, prefix)
		if !ok {
			continue
		}
		var failed struct {
			Error string `json:"error"`
		}
		if err := json.Unmarshal([]byte(text), &failed); err != nil {
			return err
		}
		if failed.Error != "" {
			return errors.New(failed.Error)
		}
		return json.Unmarshal([]byte(text), answer)
	}
}

// lost says why a process is gone.
func (c *Process) lost(err error) error {
	text := strings.TrimSpace(c.log.String())
	if i := strings.LastIndexByte(text, '\n'); i >= 0 {
		text = text[i+1:]
	}
	return fmt.Errorf("its process ended: %w: %s", err, text)
}

// Close has the process end and waits for it.
func (c *Process) Close() error { return errors.Join(c.in.Close(), c.cmd.Wait()) }

// Serve is the life of a side that is written in Go: it answers the requests that
// come in with what do returns for each, until there are no more.
func Serve[Request, Answer any](in io.Reader, out io.Writer, do func(Request) (Answer, error)) error {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		var r Request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return err
		}
		var reply any
		a, err := do(r)
		if reply = a; err != nil {
			reply = map[string]string{"error": err.Error()}
		}
		text, err := json.Marshal(reply)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "%s%s\n", prefix, text); err != nil {
			return err
		}
	}
	return lines.Err()
}
