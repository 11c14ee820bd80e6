package pipeline

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline/graph"
)

// deviceArg is the argument that every operator of DALI takes. The only device is
// the CPU: another is refused or, with RunOnCPU, taken for it.
const deviceArg = "device"

// takeDevice removes the device from arguments and returns it; nil is the CPU.
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
		if b.options.OnGPU != RunOnCPU {
			bad(errs.Unsupported, "cpu, as there is no GPU here", "leave it out, or set Options.OnGPU to RunOnCPU")
			return
		}
		b.moved = append(b.moved, fmt.Sprintf("node %s (%s): %v", n.Name, n.Schema.FullName(), device))
	default:
		bad(errs.Invalid, "cpu, gpu or mixed", "")
	}
}

// GPU is the node itself with Options.OnGPU = RunOnCPU, and a mistake otherwise.
func (n Node) GPU() Node {
	if n.b == nil || n.edge.Node == nil {
		return n
	}
	if n.b.options.OnGPU != RunOnCPU {
		n.b.fail(&errs.Error{Kind: errs.Unsupported, Op: n.edge.Node.Schema.FullName(), Subject: "node " + n.Name(),
			Want: "the CPU, as there is no GPU here", Got: "a copy to the GPU", Remedy: "leave it out, or set Options.OnGPU to RunOnCPU"})
		return Node{}
	}
	n.b.moved = append(n.b.moved, fmt.Sprintf("node %s: copy to the GPU", n.Name()))
	return n
}

// CPU is the node itself: everything is on the CPU.
func (n Node) CPU() Node { return n }
