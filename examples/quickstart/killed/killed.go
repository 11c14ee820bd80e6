// Package killed runs a program that trains, kills it, and starts it again. The tests of the
// quickstarts use it.
package killed

import (
	"bufio"
	"fmt"
	"io"
	"os/exec"
	"strings"
)

// Run starts the program and reads its lines. It kills the program when a line begins with a text;
// an empty text lets it end. It returns the lines. A program that ends before it is killed, or ends
// with a failure, is an error.
func Run(cmd *exec.Cmd, at string) (lines []string, err error) {
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	found := false
	for s := bufio.NewScanner(out); s.Scan(); {
		lines = append(lines, s.Text())
		if at != "" && strings.HasPrefix(s.Text(), at) {
			found = true
			cmd.Process.Kill() //nolint:errcheck // Wait tells how it ended
			break
		}
	}
	io.Copy(io.Discard, out) //nolint:errcheck // Wait tells how it ended
	err = cmd.Wait()
	switch {
	case found:
		return lines, nil
	case at != "":
		return lines, fmt.Errorf("the program has no line %q: %v: %s", at, err, stderr.String())
	case err != nil:
		return lines, fmt.Errorf("%w: %s", err, stderr.String())
	}
	return lines, nil
}
