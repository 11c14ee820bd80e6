package pipeline

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline/graph"
)

// deviceArg is an argument that every operator takes. The only device is the CPU. Another device is
// refused or, with RunOnCPU, replaced by the CPU.
const deviceArg = "device"

// takeDevice removes the device from the arguments and returns it; nil means the CPU.
func takeDevice(set map[string]op.Argument) any {
	a, ok := set[deviceArg]
	if !ok {
		return nil
	}
	delete(set, deviceArg)
	if a.From != nil {
		return a.From
	}
	return a.Const
}

// place puts a node on a device.
func (b *Builder) place(n *graph.Node, device any) {
	bad := func(kind errs.Kind, want, remedy string) {
		b.fail(&errs.Error{Kind: kind, Op: n.Schema.FullName(), Subject: "node " + n.Name + ", argument " + deviceArg,
			Want: want, Got: fmt.Sprint(device), Remedy: remedy})
	}
	switch device {
	case nil, "cpu":
	case "gpu", "mixed":
		if b.options.Device != RunOnCPU {
			bad(errs.Unsupported, "cpu, because Bivouac has no GPU", "leave it out, or set Options.Device to RunOnCPU")
			return
		}
		b.moved = append(b.moved, fmt.Sprintf("node %s (%s): %v", n.Name, n.Schema.FullName(), device))
	default:
		bad(errs.Invalid, "cpu, gpu or mixed", "")
	}
}

// On places the node on a device by its name. "cpu" changes nothing. "gpu" is a mistake unless
// Options.Device is RunOnCPU.
func (n Node) On(device string) Node {
	if n.b == nil || n.edge.Node == nil || device == "cpu" {
		return n
	}
	mistake := &errs.Error{Kind: errs.Unsupported, Op: n.edge.Node.Schema.FullName(), Subject: "node " + n.Name(),
		Want: "the CPU, because Bivouac has no GPU", Got: "a copy to the GPU",
		Remedy: "leave it out, or set Options.Device to RunOnCPU"}
	switch {
	case device != "gpu":
		mistake.Kind, mistake.Want, mistake.Got, mistake.Remedy = errs.Invalid, "cpu or gpu", device, ""
	case n.b.options.Device == RunOnCPU:
		n.b.moved = append(n.b.moved, fmt.Sprintf("node %s: copy to the GPU", n.Name()))
		return n
	}
	n.b.fail(mistake)
	return Node{}
}
