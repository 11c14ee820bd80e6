package dali_test

import (
	"context"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/compat/dali"
	"github.com/bivouac-ml/bivouac/compat/dali/pipeproto"
)

// TestUnusedOperators checks that operators of a message that no output needs run only with
// preserve, as in DALI. The others are not even checked.
func TestUnusedOperators(t *testing.T) {
	const head = "batch_size: 2\nseed: 4\nop:\n" +
		"  - {name: random__Uniform, output: [{name: u, device: cpu}], inst_name: u, args: {shape: [2, 2, 3]}}\n" +
		"  - {name: Cast, input: [{name: u, device: cpu}], output: [{name: i, device: cpu}],\n" +
		"     inst_name: i, args: {dtype: 0}}\n"
	const tail = "pipe_outputs: [{name: u, device: cpu}]\n"
	one := func(operator, from, to, args string) string {
		return "  - {name: " + operator + ", input: [{name: " + from + ", device: cpu}], output: [{name: " + to +
			", device: cpu}], inst_name: " + to + ", args: {" + args + "}}\n"
	}
	for _, c := range []struct {
		name, ops string
		files     int
	}{
		{"without preserve", one("DumpImage", "i", "d", ""), 0},
		{"with preserve", one("DumpImage", "i", "d", "preserve: true"), 2},
		{"without, before one with",
			one("DumpImage", "i", "d", "") + one("Flip", "d", "f", "preserve: true"), 2},
		{"one that takes no such input", one("decoders__Image", "u", "d", ""), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			p, err := pipeproto.UnmarshalYAML([]byte(head + c.ops + tail))
			if err != nil {
				t.Fatal(err)
			}
			pipe := opened(t, p, nil)
			if _, err := pipe.Run(context.Background(), nil); err != nil {
				t.Fatal(err)
			}
			files, err := os.ReadDir(".")
			if err != nil || len(files) != c.files {
				t.Errorf("%d files were written (%v), want %d", len(files), err, c.files)
			}
		})
	}
}

// TestToleratedIsLogged checks that the log names an operator that failed although its batch is
// delivered, once.
func TestToleratedIsLogged(t *testing.T) {
	p, err := pipeproto.UnmarshalYAML([]byte("batch_size: 2\nseed: 4\nop:\n" +
		"  - {name: random__Uniform, output: [{name: u, device: cpu}], inst_name: u}\n" +
		"  - {name: decoders__Image, input: [{name: u, device: cpu}], output: [{name: d, device: cpu}],\n" +
		"     inst_name: d, args: {preserve: true}}\n" +
		"pipe_outputs: [{name: u, device: cpu}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	o := &dali.DeserializeOptions{}
	o.TolerateUnused, o.Log = true, slog.New(slog.NewTextHandler(&said, nil))
	pipe := opened(t, p, o)
	for range 3 {
		if _, err := pipe.Run(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
	}
	const want = "no output needs the operator d, which failed: decoders.image: node d, input 0"
	if strings.Count(said.String(), want) != 1 {
		t.Errorf("the log says %q, want once %q", said.String(), want)
	}
	if _, err := dali.FromProto(p, nil); err == nil {
		t.Error("without TolerateUnused there is no error")
	}
}

// opened makes a pipeline of a message. The test closes it.
func opened(t *testing.T, p *pipeproto.Pipeline, o *dali.DeserializeOptions) *dali.Pipeline {
	t.Helper()
	d, err := dali.FromProto(p, o)
	if err != nil {
		t.Fatal(err)
	}
	pipe, err := d.New(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pipe.Close() })
	return pipe
}
