package orbax

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
)

// Placed is an array that Orbax loads as a JAX array, onto devices.
type Placed struct {
	Param string
	Shape []int // as it is stored
	Key   bool  // typed PRNG keys: their data has one more axis than the keys
}

// Refusal is a reason for Orbax not to load something. Param is "" if it concerns the whole
// document.
type Refusal struct {
	Param string
	Why   string
}

// CheckSharding returns reasons for Orbax not to load arrays with the content b of _sharding, in
// the order of the arrays. It does not judge what depends on the devices of the loading machine.
func CheckSharding(b []byte, arrays []Placed) []Refusal {
	ms, err := members(b)
	if err != nil {
		return []Refusal{{Why: "not a JSON object with the sharding of each array: " + err.Error()}}
	}
	of := make(map[string]json.RawMessage, len(ms))
	for _, m := range ms {
		of[m.key] = m.value
	}
	var out []Refusal
	for _, a := range arrays {
		raw, ok := of[base64.URLEncoding.EncodeToString([]byte(a.Param))]
		why := "it names no sharding of the array"
		if ok {
			why = refusedSharding(raw, a)
		}
		if why != "" {
			out = append(out, Refusal{a.Param, why})
		}
	}
	return out
}

// axisTypes are the names of jax.sharding.AxisType.
var axisTypes = []string{"AxisType.Auto", "AxisType.Explicit", "AxisType.Manual"}

// refusedSharding returns why Orbax cannot make a sharding from an entry of _sharding, or "".
func refusedSharding(raw json.RawMessage, a Placed) string {
	var text string
	if json.Unmarshal(raw, &text) != nil || isNull(raw) {
		return "the sharding of the array is not a string"
	}
	doc, err := exact([]byte(text))
	if err != nil {
		return "the sharding of the array is not a JSON object"
	}
	var kind string
	var device *string
	switch err := doc.read("sharding_type", &kind); {
	case err == nil && kind == "NamedSharding":
		return refusedMesh(doc, a)
	case err != nil || kind != "SingleDeviceSharding":
		return "the sharding of the array is of a type that Orbax does not make: " + strconv.Quote(kind)
	case doc.read("device_str", &device) != nil || device == nil:
		return "the sharding of the array names no device"
	}
	return ""
}

// exactObject is a JSON object whose member names are matched exactly: encoding/json ignores the
// case of letters.
type exactObject map[string]json.RawMessage

func exact(b []byte) (exactObject, error) {
	var o exactObject
	err := json.Unmarshal(b, &o)
	if err == nil && o == nil {
		err = errors.New("null")
	}
	return o, err
}

// read decodes a member. A missing member leaves its target unchanged.
func (o exactObject) read(name string, to any) error {
	if raw, ok := o[name]; ok {
		return json.Unmarshal(raw, to)
	}
	return nil
}

// refusedMesh returns why Orbax cannot make a NamedSharding of an array, or "".
func refusedMesh(doc exactObject, a Placed) string {
	var shape, spec *[]json.RawMessage
	var axes, types []string
	var mesh exactObject
	if err := errors.Join(doc.read("shape", &shape), doc.read("axis_names", &axes), doc.read("axis_types", &types),
		doc.read("partition_spec", &spec), doc.read("device_mesh", &mesh)); err != nil {
		return "the sharding of the array is not as Orbax writes it: " + err.Error()
	}
	switch {
	case shape == nil || spec == nil || doc["axis_names"] == nil:
		return "the sharding of the array lacks its shape, its axis_names or its partition_spec"
	case len(*shape) != len(axes):
		return "the mesh of the array has " + strconv.Itoa(len(*shape)) + " axes and " + strconv.Itoa(len(axes)) + " names"
	case len(types) > 0 && len(types) != len(axes):
		return "the mesh of the array has " + strconv.Itoa(len(axes)) + " axes and " + strconv.Itoa(len(types)) +
			" axis_types"
	}
	for _, t := range types {
		if !slices.Contains(axisTypes, t) {
			return "the mesh of the array has an axis of the unknown type " + strconv.Quote(t)
		}
	}
	extent, devices := map[string]int{}, 1
	for i, name := range axes {
		n := 0
		if json.Unmarshal((*shape)[i], &n) != nil {
			return "the shape of the mesh of the array is not a list of numbers"
		}
		extent[name] = n
		devices *= n
	}
	if len(extent) != len(axes) {
		return "the mesh of the array has two axes of one name"
	}
	if len(mesh) > 0 {
		if n, ok := devicesIn(mesh["mesh"]); !ok || n != devices {
			return "the mesh of the array has another number of devices than its shape says"
		}
	}
	return refusedSpec(*spec, extent, a)
}

// refusedSpec returns why JAX cannot cut an array as a partition_spec says, over a mesh with these
// extents, or "".
func refusedSpec(spec []json.RawMessage, extent map[string]int, a Placed) string {
	rank := len(a.Shape)
	if a.Key {
		rank--
	}
	if len(spec) > rank {
		return "the partition_spec of the array has more entries than the array has axes"
	}
	used := map[string]bool{}
	for i, raw := range spec {
		parts := 1
		names, ok := specNames(raw)
		if !ok {
			return "the partition_spec of the array is not as Orbax writes it"
		}
		for _, name := range names {
			n, there := extent[name]
			if !there || used[name] {
				return "the partition_spec of the array names " + strconv.Quote(name) +
					", which its mesh lacks or which was used before"
			}
			used[name] = true
			parts *= n
		}
		if parts < 1 || a.Shape[i]%parts != 0 {
			return "axis " + strconv.Itoa(i) + " of the array cannot be cut in " + strconv.Itoa(parts) + " equal parts"
		}
	}
	return ""
}

// specNames returns the axes of the mesh in an entry of a partition_spec.
func specNames(raw json.RawMessage) ([]string, bool) {
	var one *string
	if json.Unmarshal(raw, &one) == nil {
		if one == nil {
			return nil, true
		}
		return []string{*one}, true
	}
	var several []string
	return several, json.Unmarshal(raw, &several) == nil
}

// devicesIn counts the devices in nested lists of {"id": N}.
func devicesIn(mesh json.RawMessage) (int, bool) {
	var list []json.RawMessage
	if json.Unmarshal(mesh, &list) != nil {
		device, err := exact(mesh)
		return 1, err == nil && device["id"] != nil
	}
	sum := 0
	for _, m := range list {
		n, ok := devicesIn(m)
		if !ok {
			return 0, false
		}
		sum += n
	}
	return sum, true
}

// keyWords is the number of uint32 words of a key, for each implementation that JAX knows.
var keyWords = map[string]int{"threefry2x32": 2, "rbg": 4, "unsafe_rbg": 4}

// CheckArrays returns reasons for Orbax not to load the JAX arrays of an item with the document
// array_metadatas/file, whose content is b.
func CheckArrays(file string, b []byte, arrays []Placed) []Refusal {
	if n, ok := strings.CutPrefix(file, ArraysPrefix); !ok {
		return nil
	} else if _, err := strconv.Atoi(n); err != nil {
		return []Refusal{{Why: "its name does not end in the number of a process"}}
	}
	d, err := exact(b)
	if err != nil {
		return []Refusal{{Why: "not a JSON object"}}
	}
	if _, ok := d["array_metadata"]; ok {
		return []Refusal{{Why: "the record of one array instead of the document of all arrays"}}
	}
	raw, ok := d["array_metadatas"]
	if !ok {
		return nil
	}
	var records []exactObject
	if err := json.Unmarshal(raw, &records); err != nil || isNull(raw) {
		return []Refusal{{Why: "array_metadatas is not a list of records"}}
	}
	stored := make(map[string]Placed, len(arrays))
	for _, a := range arrays {
		stored[a.Param] = a
	}
	for i, r := range records {
		record := "record " + strconv.Itoa(i)
		array, err := exact(r["array_metadata"])
		name := array["param_name"]
		switch {
		case err != nil || len(name) == 0:
			return []Refusal{{Why: record + " names no array"}}
		case strings.IndexByte("[{", name[0]) >= 0:
			return []Refusal{{Why: record + " has a param_name that is not a string"}}
		case !iterable(array["write_shape"]) || !iterable(array["chunk_shape"]):
			return []Refusal{{Why: record + " has no write_shape or no chunk_shape"}}
		}
		var param string
		ext, err := exact(array["ext_metadata"])
		if json.Unmarshal(name, &param) != nil || err != nil {
			continue
		}
		if why := refusedImpl(ext["random_key_impl"], stored, param); why != "" {
			return []Refusal{{param, why}}
		}
	}
	return nil
}

// refusedImpl returns why JAX cannot make PRNG keys from an array, or "".
func refusedImpl(raw json.RawMessage, arrays map[string]Placed, param string) string {
	a, ok := arrays[param]
	if !ok || raw == nil || isNull(raw) {
		return ""
	}
	var impl string
	if err := json.Unmarshal(raw, &impl); err != nil {
		return "the implementation of its keys is not a string"
	}
	words, known := keyWords[impl]
	switch {
	case impl == "":
		return ""
	case !known:
		return "JAX has no implementation of keys " + strconv.Quote(impl)
	case len(a.Shape) == 0 || a.Shape[len(a.Shape)-1] != words:
		return "keys of " + impl + " have " + strconv.Itoa(words) + " numbers each"
	}
	return ""
}

// iterable reports whether Python can iterate over a JSON value.
func iterable(raw json.RawMessage) bool {
	return len(raw) > 0 && strings.IndexByte(`[{"`, raw[0]) >= 0
}
