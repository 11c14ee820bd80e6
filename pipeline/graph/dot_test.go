package graph

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/op"
)

func TestDOT(t *testing.T) {
	var b Builder
	u := add(t, &b, "random.coin_flip", "u", nil)
	p := add(t, &b, "graphtest.pair", "p", nil, u)
	q := add(t, &b, "graphtest.pure", "q", op.Args{"k": u}, Edge{p.Node, 1}, u)
	add(t, &b, "graphtest.kept", "k", nil, p)
	g, err := b.Graph([]Edge{q, p, q})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		o    DotOptions
		want string
	}{
		{DotOptions{}, `digraph graphname {
u -> p;
u -> q;

p -> __MakeContiguous_CpuToCpu_p_0_;
p -> k;
p -> q;

q -> __MakeContiguous_CpuToCpu_q;




}
`},
		{DotOptions{Tensors: true, Colors: true}, `digraph graphname {
u[color="blue"];
u -> p[style=dotted];
u -> q[style=dotted];
u_cpu[shape=box];
u -> u_cpu[label=0];
u_cpu -> p[label=0];
u_cpu -> q[label=1];
u_cpu -> q[label=2];

p[color="blue"];
p -> __MakeContiguous_CpuToCpu_p_0_[style=dotted];
p -> k[style=dotted];
p -> q[style=dotted];
p_0__cpu[shape=box];
p -> p_0__cpu[label=0];
p_0__cpu -> __MakeContiguous_CpuToCpu_p_0_[label=0];
p_0__cpu -> k[label=0];
p_1__cpu[shape=box];
p -> p_1__cpu[label=1];
p_1__cpu -> q[label=0];

q[color="blue"];
q -> __MakeContiguous_CpuToCpu_q[style=dotted];
q_cpu[shape=box];
q -> q_cpu[label=0];
q_cpu -> __MakeContiguous_CpuToCpu_q[label=0];

__MakeContiguous_CpuToCpu_q[color="blue"];
contiguous_cpu_to_cpu_q_cpu[shape=box];
__MakeContiguous_CpuToCpu_q -> contiguous_cpu_to_cpu_q_cpu[label=0];

__MakeContiguous_CpuToCpu_p_0_[color="blue"];
contiguous_cpu_to_cpu_p_0__cpu[shape=box];
__MakeContiguous_CpuToCpu_p_0_ -> contiguous_cpu_to_cpu_p_0__cpu[label=0];

k[color="blue"];
k_cpu[shape=box];
k -> k_cpu[label=0];

}
`},
	} {
		if d := cmp.Diff(c.want, string(g.DOT(c.o))); d != "" {
			t.Errorf("%+v (-want +got):\n%s", c.o, d)
		}
	}
}
