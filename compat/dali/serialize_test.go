package dali_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/compat/dali"
	"github.com/bivouac-ml/bivouac/compat/dali/pipeproto"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/proof/dalivec"
)

// recorded returns the pipelines that DALI serialized, by name.
func recorded(t *testing.T) map[string][]byte {
	t.Helper()
	dir, _, ok := dalivec.Find()
	if !ok {
		t.Skip("no vectors")
	}
	files, err := filepath.Glob(filepath.Join(dir, "graph", "*", "pipe.bin"))
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	all := map[string][]byte{}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(filepath.Dir(f))] = b
	}
	return all
}

// bare takes out of a pipeline what only says where in a program it came from.
func bare(t *testing.T, b []byte) *pipeproto.Pipeline {
	t.Helper()
	p, err := pipeproto.Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	for i := range p.Ops {
		o := &p.Ops[i]
		o.Args = slices.DeleteFunc(o.Args, func(a pipeproto.Argument) bool { return strings.HasPrefix(a.Name, "_") && a.Name != "_if_stmt" })
		slices.SortFunc(o.Args, func(a, b pipeproto.Argument) int { return strings.Compare(a.Name, b.Name) })
	}
	return p
}

// What DALI wrote becomes a definition that is written the same, except the order of arguments and
// the place in a program that they came from.
func TestRecordedPipelines(t *testing.T) {
	same, left := 0, map[string]string{}
	for name, b := range recorded(t) {
		d, err := dali.Deserialize(b, nil)
		if err != nil {
			left[name] = err.Error()
			continue
		}
		again, err := dali.Serialize(d)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(bare(t, b), bare(t, again)); diff != "" {
			t.Errorf("%s (-DALI's +ours):\n%s", name, diff)
		}
		same++
	}
	t.Logf("%d equal; not here: %q", same, left)
}

func TestDeserializeRefuses(t *testing.T) {
	const start = "batch_size: 2\n"
	const flip = "op:\n  - name: random__CoinFlip\n    output: [{name: a, device: cpu}]\n    inst_name: a\n"
	const video = "op:\n  - name: experimental__inputs__Video\n    output: [{name: a, device: cpu}]\n    inst_name: a\n"
	const out = "pipe_outputs: [{name: a, device: cpu}]\n"
	for name, c := range map[string]struct {
		yaml string
		kind error
		says []string
	}{
		"operator":          {start + "op:\n  - {name: random__CoinFlp, inst_name: a}\n", errs.NotFound, []string{`"a"`, "random__CoinFlp", "random__CoinFlip"}},
		"function":          {start + "op:\n  - {name: PythonFunction, inst_name: a}\n", errs.Unsupported, []string{`"a"`, "python_function", "fn.Func"}},
		"DLPack function":   {start + "op:\n  - {name: DLTensorPythonFunction, inst_name: a}\n", errs.Unsupported, []string{`"a"`, "dl_tensor_python_function", "fn.Func"}},
		"video input":       {start + "op:\n  - {name: experimental__inputs__Video, inst_name: a}\n", errs.Invalid, []string{`"a"`, "one output"}},
		"video length":      {start + video + out, errs.Invalid, []string{`"a"`, "sequence_length"}},
		"video policy":      {start + video + "    args: {sequence_length: 2, last_sequence_policy: x}\n" + out, errs.Invalid, []string{`"a"`, "last_sequence_policy", "pad"}},
		"argument":          {start + "op:\n  - {name: random__CoinFlip, inst_name: a, args: {probabilty: 0.5}}\n", errs.Invalid, []string{"probabilty", "probability"}},
		"type":              {start + "op:\n  - {name: random__CoinFlip, inst_name: a, args: {probability: often}}\n", errs.Invalid, []string{`"a"`, "probability", "float"}},
		"dtype":             {start + "op:\n  - {name: random__CoinFlip, inst_name: a, args: {dtype: 99}}\n", errs.Invalid, []string{`"a"`, "dtype", "99"}},
		"input":             {start + flip + "pipe_outputs: [{name: b, device: cpu}]\n", errs.Invalid, []string{`"b"`}},
		"device":            {start + strings.ReplaceAll(flip, "cpu", "gpu") + out, errs.Unsupported, []string{`"a"`, "gpu", "RunOnCPU"}},
		"unknown device":    {start + strings.ReplaceAll(flip, "cpu", "tpu") + out, errs.Invalid, []string{`"a"`, "tpu"}},
		"memory of a shape": {start + strings.Replace(flip, "inst_name: a", "inst_name: a\n    args: {shape: [1099511627776]}", 1) + out, errs.Exhausted, []string{"node a", "MemoryLimit"}},
		"memory":            {"batch_size: 16777216\nprefetch_queue_depth_cpu: 1000\n" + flip + out, errs.Exhausted, []string{"batch_size"}},
		"batch size":        {"batch_size: 0\n" + flip + out, errs.Invalid, []string{"batch_size"}},
		"threads":           {start + "num_threads: 0\n" + flip + out, errs.Invalid, []string{"num_threads"}},
		"queue":             {start + "prefetch_queue_depth_cpu: 0\n" + flip + out, errs.Invalid, []string{"prefetch_queue_depth_cpu"}},
		"no outputs":        {start + flip, errs.Invalid, []string{"output"}},
		"twice":             {start + flip + strings.TrimPrefix(flip, "op:\n") + out, errs.Exists, []string{"a"}},
		"field":             {"batch_siz: 2\n", errs.Invalid, []string{"line 1", "batch_siz", `did you mean "batch_size"?`}},
		"field of an op":    {start + "op:\n  - {nam: random__CoinFlip}\n", errs.Invalid, []string{"line 3", `did you mean "name"?`}},
		"number of edges":   {start + "op:\n  - {name: random__CoinFlip, inst_name: a}\n", errs.Invalid, []string{`"a"`, "outputs"}},
	} {
		p, err := pipeproto.UnmarshalYAML([]byte(c.yaml))
		if err == nil {
			_, err = dali.FromProto(p, nil)
		}
		if !errors.Is(err, c.kind) {
			t.Errorf("%s: got %v, want %v", name, err, c.kind)
			continue
		}
		for _, s := range c.says {
			if !strings.Contains(err.Error(), s) {
				t.Errorf("%s: %v does not say %s", name, err, s)
			}
		}
	}
}
