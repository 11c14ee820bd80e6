package pipeproto_test

import (
	"fmt"
	"os"

	"github.com/bivouac-ml/bivouac/compat/dali/pipeproto"
)

// A pipeline that DALI serialized, in YAML.
func Example() {
	b, err := os.ReadFile("testdata/graph/g07_external/pipe.bin")
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := pipeproto.Parse(b)
	if err != nil {
		fmt.Println(err)
		return
	}
	p.Ops, p.Outputs = p.Ops[:1], p.Outputs[:1]
	p.Ops[0].Args = p.Ops[0].Args[:3]
	text, err := pipeproto.MarshalYAML(p)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(string(text))
	// Output:
	// num_threads: 1
	// batch_size: 3
	// op:
	//     - name: ExternalSource
	//       output:
	//         - {name: input, device: cpu}
	//       args:
	//         device: cpu
	//         repeat_last: false
	//         _module: nvidia.dali.fn
	//       inst_name: input
	//       logical_id: 0
	// pipe_outputs:
	//     - {name: input, device: cpu, dtype: -1, ndim: -1}
	// device_id: -99999
	// seed: 1234
	// enable_checkpointing: false
	// executor_type: 11
	// executor_flags: 4
	// prefetch_queue_depth_cpu: 2
	// prefetch_queue_depth_gpu: 2
	// bytes_per_sample_hint: 0
}

func ExampleNewArgument() {
	a, err := pipeproto.NewArgument("size", []int64{224, 224})
	if err != nil {
		fmt.Println(err)
		return
	}
	value, ok := a.Value()
	fmt.Println(a.Type, a.Elements[1].Name, value, ok)
	// Output: int64 element 1 [224 224] true
}
