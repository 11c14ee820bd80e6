package dali

import (
	"fmt"
	"strconv"

	"github.com/bivouac-ml/bivouac/compat/dali"
	"github.com/bivouac-ml/bivouac/proof/dalivec"
	"github.com/bivouac-ml/bivouac/tensor"
)

// setOptions sets options by DALI's names.
func setOptions(o *dali.PipelineOptions, opts map[string]any) error {
	for name, v := range opts {
		if queues, ok := v.(map[string]any); !ok {
			var err error
			if v, err = dalivec.Constant(v); err != nil {
				return err
			}
		} else {
			v = queues
		}
		if err := setOption(o, name, v); err != nil {
			return err
		}
	}
	return nil
}

// setOption sets an option by DALI's name. A value that Go's types do not let in is an exception.
func setOption(o *dali.PipelineOptions, name string, v any) error {
	onOff := map[any]dali.Toggle{true: dali.On, false: dali.Off}
	switches := map[string]*dali.Toggle{"exec_pipelined": &o.ExecPipelined, "exec_async": &o.ExecAsync,
		"exec_dynamic": &o.ExecDynamic}
	bools := map[string]*bool{
		"enable_checkpointing": &o.EnableCheckpointing, "enable_memory_stats": &o.EnableMemoryStats, "set_affinity": &o.SetAffinity,
	}
	ints := map[string]*int{
		"batch_size": &o.BatchSize, "num_threads": &o.Workers, "py_num_workers": &o.PyNumWorkers, "max_streams": &o.MaxStreams,
		"bytes_per_sample": &o.BytesPerSample, "default_cuda_stream_priority": &o.DefaultCUDAStreamPriority,
	}
	if field, ok := switches[name]; ok {
		*field, ok = onOff[v]
		return typed(ok, name, v)
	}
	if field, ok := bools[name]; ok {
		*field, ok = v.(bool)
		return typed(ok, name, v)
	}
	if field, ok := ints[name]; ok {
		*field, ok = v.(int)
		return typed(ok, name, v)
	}
	ok := false
	switch name {
	case "checkpoint":
		o.Checkpoint, ok = v.([]byte)
	case "py_start_method":
		o.PyStartMethod, ok = v.(string)
	case "device_id":
		if v == nil {
			return nil
		}
		var id int
		id, ok = v.(int)
		o.DeviceID = &id
	case "output_dtype":
		o.OutputDType = make([]tensor.DType, 1)
		o.OutputDType[0], ok = v.(tensor.DType)
	case "output_ndim":
		o.OutputNDim = make([]int, 1)
		o.OutputNDim[0], ok = v.(int)
	case "output_layout":
		o.OutputLayout = make([]string, 1)
		o.OutputLayout[0], ok = v.(string)
	case "seed":
		switch n := v.(type) {
		case int:
			if ok = true; n != -1 { // -1 is any seed
				o.Seed = uint64(n)
			}
		case uint64: // from 2^63 on
			o.Seed, ok = n, true
		}
	case "prefetch_queue_depth":
		queues, separated := v.(map[string]any)
		if !separated {
			o.Prefetch, ok = v.(int)
			break
		}
		cpu, err1 := strconv.Atoi(fmt.Sprint(queues["cpu_size"]))
		gpu, err2 := strconv.Atoi(fmt.Sprint(queues["gpu_size"]))
		o.CPUQueueSize, o.GPUQueueSize, ok = cpu, gpu, err1 == nil && err2 == nil
	default:
		return fmt.Errorf("unknown option %s", name)
	}
	return typed(ok, name, v)
}

// typed is the exception of an option of another type.
func typed(ok bool, name string, v any) error {
	if ok {
		return nil
	}
	return raise("TypeError", "%s: %v of type %T", name, v, v)
}
