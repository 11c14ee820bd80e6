package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
)

// gauges are numbers of runs for a monitoring system, in the text format of OpenMetrics. The
// textfile collector of node exporters reads it from a file *.prom.
type gauges struct {
	order []string // of the names
	help  map[string]string
	lines map[string][]string
}

// set sets a number, of a run or, with run "", of the whole call.
func (m *gauges) set(name, help, run string, value float64) {
	if m.lines == nil {
		m.help, m.lines = map[string]string{}, map[string][]string{}
	}
	if _, known := m.help[name]; !known {
		m.order = append(m.order, name)
		m.help[name] = help
	}
	label := ""
	if run != "" {
		label = `{run="` + labelText.Replace(run) + `"}`
	}
	m.lines[name] = append(m.lines[name], name+label+" "+strconv.FormatFloat(value, 'f', -1, 64))
}

// labelText escapes the value of a label.
var labelText = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// document returns the text.
func (m *gauges) document() []byte {
	var b strings.Builder
	for _, name := range m.order {
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s gauge\n", name, m.help[name], name)
		for _, line := range m.lines[name] {
			b.WriteString(strings.ToValidUTF8(line, "\uFFFD") + "\n")
		}
	}
	b.WriteString("# EOF\n")
	return []byte(b.String())
}

// ended says when a command has looked at all runs.
func (m *gauges) ended(command string, at time.Time) {
	m.set("bivouac_"+command+"_time_seconds", "When bivouac "+command+" ended, in seconds since 1970.", "",
		float64(at.Unix()))
}

// write writes the file in one move, so that no exporter reads half of it. name "" writes nothing.
func (m *gauges) write(ctx context.Context, name, command string) error {
	if name == "" {
		return nil
	}
	m.ended(command, time.Now())
	abs, err := filepath.Abs(name)
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Dir(abs)); err != nil {
		return unopened(command, filepath.Dir(name), err) // a directory that is misspelled is not made
	}
	st, err := local.Open(filepath.Dir(abs), nil)
	if err != nil {
		return err
	}
	return st.Put(ctx, filepath.Base(abs), m.document(), store.PutOptions{})
}
