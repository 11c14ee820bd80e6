package pt

import "github.com/bivouac-ml/bivouac/format/pickle"

// names has the names that a value may have, by module, without the types of torch. None of them is
// imported or called: the functions of value.go make of each what it stands for.
var names = map[string][]string{
	"collections": {"OrderedDict", "defaultdict"},
	"_codecs":     {"encode"},
	"builtins":    builtins,
	"__builtin__": builtins,
	"torch": {"Size", "Tensor", "QUInt8Storage", "QInt8Storage", "QInt32Storage", "QUInt4x2Storage",
		"QUInt2x4Storage", "device"},
	"torch.storage":       {"UntypedStorage"},
	"torch.serialization": {"_get_layout"},
	"torch._utils": {"_rebuild_tensor", "_rebuild_tensor_v2", "_rebuild_tensor_v3", "_rebuild_parameter",
		"_rebuild_parameter_with_state", "_rebuild_wrapper_subclass"},
	"torch._tensor":          {"_rebuild_from_type_v2"},
	"torch.nn.parameter":     {"Parameter", "Buffer"},
	"numpy":                  {"dtype", "ndarray"},
	"numpy.core.multiarray":  {"_reconstruct", "scalar"},
	"numpy._core.multiarray": {"_reconstruct", "scalar"},

	"torch.distributed.tensor":                 {"DTensor"},
	"torch.distributed.tensor._dtensor_spec":   {"DTensorSpec", "TensorMeta", "ShardOrderEntry"},
	"torch.distributed.tensor.placement_types": {"Shard", "Replicate", "_StridedShard", "Partial"},
	"torch.distributed.device_mesh":            {"DeviceMesh"},
	"torch.distributed._mesh_layout":           {"_MeshLayout", "_FlatLayout"},
}

// builtins are types of Python, some of which are only named as the factory of a defaultdict.
var builtins = []string{"bytes", "bytearray", "complex", "set", "frozenset", "dict", "list", "tuple", "int", "long",
	"float", "bool", "str"}

// listed reports whether a value may have a name.
func listed(g pickle.Global) bool {
	if g.Module == "torch" && (otherTypes[g.Name] || isType(g.Name) || isStorage(g.Name)) {
		return true
	}
	for _, n := range names[g.Module] {
		if n == g.Name {
			return true
		}
	}
	return false
}

func isType(name string) bool { _, ok := dtypes[name]; return ok }

func isStorage(name string) bool { _, ok := storages[name]; return ok }
