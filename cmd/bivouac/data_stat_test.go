package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader"
	"github.com/bivouac-ml/bivouac/tensor"
)

// damagedSet is a data set of which every tenth record is damaged. Sample i has i numbers; every
// third lacks them.
type damagedSet int64

func init() {
	reader.Register(op.Schema{Name: "damaged_of_a_test", Module: []string{"readers"}, Doc: "Damaged.",
		Outputs: []op.Port{{Name: "numbers"}}, Params: []op.Parameter{{Name: "n", Type: op.Int, Required: true,
			Doc: "Samples."},
			{Name: "path", Type: op.Strings, Doc: "Not read."}}},
		reader.Opener{
			Outputs: func(*op.Config) ([]tensor.Spec, error) {
				return []tensor.Spec{{DType: tensor.Int16, Shape: tensor.Shape{-1}}}, nil
			},
			Open: func(_ context.Context, c *op.Config) (reader.Source, error) {
				return damagedSet(op.Get[int](c, "n")), nil
			},
		})
}

func (d damagedSet) Info() reader.Info {
	return reader.Info{Format: "damaged", Samples: int64(d), Fingerprint: "x"}
}
func (damagedSet) Size(int64) int64         { return 2 }
func (damagedSet) Describe(id int64) string { return fmt.Sprintf("record %d of f", id) }
func (damagedSet) Close() error             { return nil }

func (damagedSet) Fetch(ctx context.Context, ids []int64, dst *op.Block) error {
	for s, id := range ids {
		switch {
		case id%10 == 9:
			dst.Fail(s, &errs.Error{Kind: errs.Corrupt, Want: "checksum 1", Got: "2"})
		case id%3 == 0:
			dst.Leave(0, s)
		default:
			clear(dst.Out(0, s, int(id)).Data)
		}
	}
	return ctx.Err()
}

// dataCommand runs bivouac data and returns its exit status and outputs.
func dataCommand(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	var out, errors bytes.Buffer
	code = run(ctx, append([]string{"data"}, args...), &out, &errors)
	return code, out.String(), errors.String()
}

// Every damaged record is counted, and the first hundred are named in their order.
func TestVerifyCountsDamage(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("f", nil, 0o666); err != nil {
		t.Fatal(err)
	}
	args := []string{"f", "--reader", "damaged_of_a_test", "--arg", "n=2000"}
	code, out, stderr := dataCommand(context.Background(), append([]string{"verify"}, args...)...)
	if code != exitCorrupt || !strings.Contains(out, "damaged: f  readers.damaged_of_a_test  200 of 2000 samples\n") ||
		!strings.Contains(out, "\n  and 100 more\n") || !strings.Contains(stderr,
		"want 2000 sound samples, got 200 that cannot be read") {
		t.Errorf("%d %.300s %s", code, out, stderr)
	}
	lines := strings.Split(out, "\n")
	for i := range 100 {
		if want := fmt.Sprintf("sample %d, record %[1]d of f: corrupt: want checksum 1, got 2",
			10*i+9); !strings.Contains(lines[i+1], want) {
			t.Fatalf("line %d: want %q, got %q", i, want, lines[i+1])
		}
	}
	code, out, _ = dataCommand(context.Background(), append([]string{"verify", "--json"}, args...)...)
	var list []scanned
	if err := json.Unmarshal([]byte(out), &list); err != nil || code != exitCorrupt || list[0].Damaged != 200 ||
		len(list[0].Errors) != 100 ||
		list[0].Errors[3].Sample != 39 || list[0].Errors[3].Kind != "corrupt" {
		t.Errorf("%d %v %.300s", code, err, out)
	}
	code, out, _ = dataCommand(context.Background(), append([]string{"stat"}, args...)...)
	if code != exitCorrupt || !strings.Contains(out, "numbers  1 to 1997, mean 999.0") || !strings.Contains(out,
		"missing in 600") {
		t.Errorf("%d %s", code, out)
	}
	code, out, _ = dataCommand(context.Background(), append([]string{"show", "f", "3"}, args[1:]...)...)
	if code != exitOK || !strings.Contains(out, "numbers  missing") {
		t.Errorf("%d %s", code, out)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if code, _, _ := dataCommand(ctx, append([]string{"verify"}, args...)...); code != exitInterrupted {
		t.Errorf("interrupted: %d", code)
	}
}

// The argument of verify decides whether a data set or a state is checked.
func TestIsDataSet(t *testing.T) {
	for path, want := range map[string]bool{"a.yaml": true, "a.yml": true, "part-*.tar": true, "x.jsonl": true,
		"x.npy": true,
		"-":     false, "state.json": false, "../../testdata/documents/job": false, "../../testdata/dali/inputs": true} {
		if got := isDataSet(context.Background(), path, &setOptions{}); got != want {
			t.Errorf("%s: %t", path, got)
		}
	}
}
