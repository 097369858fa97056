package model

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/invopop/jsonschema"
	validator "github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

var update = flag.Bool("update", false, "write golden files anew")

const schemaFile = "../schema/scenario.schema.json"

// reflector makes schemas of the types of scenario files: descriptions are their doc
// comments, special types come from schemaOf.
func reflector(t *testing.T) *jsonschema.Reflector {
	r := &jsonschema.Reflector{Anonymous: true, DoNotReference: true, ExpandedStruct: true}
	if err := r.AddGoComments("github.com/fencesim/fencesim/model", "."); err != nil {
		t.Fatal(err)
	}
	r.Mapper = func(typ reflect.Type) *jsonschema.Schema { return schemaOf(r, typ) }
	return r
}

// plainSchema is the schema of a struct by its tags alone.
func plainSchema(r *jsonschema.Reflector, v any) *jsonschema.Schema {
	plain := *r
	target := reflect.TypeOf(v)
	plain.Mapper = func(typ reflect.Type) *jsonschema.Schema {
		if typ == target {
			return nil
		}
		return schemaOf(r, typ)
	}
	s := plain.Reflect(v)
	s.Version = ""
	return s
}

// schemaOf gives the types whose form in files their tags do not tell, and constraints.
func schemaOf(r *jsonschema.Reflector, typ reflect.Type) *jsonschema.Schema {
	named := func(value *jsonschema.Schema) *jsonschema.Schema {
		return &jsonschema.Schema{Type: "object", AdditionalProperties: value}
	}
	switch v := reflect.Zero(typ).Interface().(type) {
	case Map[int64]:
		return named(whole(0, MaxElements))
	case Map[StreamFile]:
		s := plainSchema(r, StreamFile{})
		property(s, "on").Enum = []any{"gpu", "cpu"}
		return named(s)
	case Map[FenceFile]:
		s := plainSchema(r, FenceFile{})
		narrow(s, "initial", whole(0, Released))
		property(s, "store").Enum = words(ParameterNamed("store").Values)
		return named(s)
	case map[int]*ScheduleFile:
		s := named(plainSchema(r, ScheduleFile{}))
		s.PropertyNames = &jsonschema.Schema{Pattern: "^(0|[1-9][0-9]*)$"}
		return s
	case Discipline:
		s := &jsonschema.Schema{Type: "string"}
		for _, d := range Disciplines {
			s.Enum = append(s.Enum, d.Word)
		}
		return s
	case Machine:
		return machineSchema()
	case Generate:
		return generateSchema(r)
	case Evaluator:
		s := plainSchema(r, v)
		for p := s.Properties.Oldest(); p != nil; p = p.Next() {
			narrow(s, p.Key, whole(1, NeverForced))
		}
		return s
	case NodeFile:
		s := plainSchema(r, v)
		narrow(s, "elems", whole(0, MaxElements))
		narrow(s, "peer", &jsonschema.Schema{AnyOf: []*jsonschema.Schema{whole(0, MaxRanks-1), {Type: "string", Pattern: "^(next|prev|0|[1-9][0-9]*)$"}}})
		return s
	case EvalFile:
		s := plainSchema(r, v)
		property(s, "mode").Enum = words([]string{"sync", "async"})
		return s
	case BufferFile:
		s := plainSchema(r, v)
		property(s, "commands").Items = commandSchema(func(i OpInfo) bool { return i.GPU })
		property(s, "on_finish").Items = commandSchema(func(i OpInfo) bool { return i.CPU })
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{property(s, "commands"), s}, Description: "a command buffer"}
	case TaskFile:
		s := plainSchema(r, v)
		property(s, "tasks").Items = commandSchema(func(i OpInfo) bool { return i.CPU })
		return s
	case ScheduleFile:
		s := plainSchema(r, v)
		property(s, "main").Items = commandSchema(func(i OpInfo) bool { return i.CPU }, "enqueue", "commit", "throttle", "synchronize", "exit")
		return s
	case Expectation:
		s := plainSchema(r, v)
		narrow(s, "ranks", whole(1, MaxRanks))
		property(s, "verdict").Enum = words(Verdicts)
		property(s, "property").Enum = words(Properties)
		return s
	case Counters:
		s := plainSchema(r, v)
		for p := s.Properties.Oldest(); p != nil; p = p.Next() {
			narrow(s, p.Key, whole(0, Released))
		}
		return s
	}
	return nil
}

func whole(low, high int64) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "integer", Minimum: json.Number(fmt.Sprint(low)), Maximum: json.Number(fmt.Sprint(high))}
}

func words(list []string) []any {
	var out []any
	for _, w := range list {
		out = append(out, w)
	}
	return out
}

func property(s *jsonschema.Schema, name string) *jsonschema.Schema {
	p, ok := s.Properties.Get(name)
	if !ok {
		panic("no property " + name)
	}
	return p
}

// narrow replaces a property and keeps its description.
func narrow(s *jsonschema.Schema, name string, by *jsonschema.Schema) {
	by.Description = property(s, name).Description
	s.Properties.Set(name, by)
}

// commandSchema is a text that begins with one of the commands, or with another word.
func commandSchema(may func(OpInfo) bool, more ...string) *jsonschema.Schema {
	for _, i := range Ops {
		if may(i) {
			more = append(more, i.Word)
		}
	}
	return &jsonschema.Schema{Type: "string", Pattern: `^\s*(` + strings.Join(more, "|") + `)(\s|$)`}
}

func object(required ...string) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "object", Properties: jsonschema.NewProperties(), Required: required, AdditionalProperties: jsonschema.FalseSchema}
}

// machineSchema walks the table of parameters.
func machineSchema() *jsonschema.Schema {
	preset := &jsonschema.Schema{Type: "string", Description: "a machine with a name"}
	for _, p := range Presets {
		preset.Enum = append(preset.Enum, p.Name)
	}
	m := object()
	m.Properties.Set("preset", preset)
	for i := range Parameters {
		p := &Parameters[i]
		var s *jsonschema.Schema
		switch {
		case p.text != nil:
			s = &jsonschema.Schema{Type: "string", Enum: words(p.Values)}
		case p.number != nil:
			s = whole(0, NeverForced)
		case p.visibility != nil:
			s = visibilitySchema(p)
		default:
			buffered := object("buffered")
			buffered.Properties.Set("buffered", whole(0, NeverForced))
			s = &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Const: TransportRendezvous}, buffered}}
		}
		s.Description = p.Doc
		m.Properties.Set(p.Name, s)
	}
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{preset, m}, Description: "assumptions about hardware and runtime: a preset, or parameters with a preset to override"}
}

func visibilitySchema(p *Parameter) *jsonschema.Schema {
	var plain []string
	lag := false
	for _, v := range p.Values {
		if strings.HasPrefix(v, "{") {
			lag = true
		} else {
			plain = append(plain, v)
		}
	}
	mode := object("mode")
	mode.Properties.Set("mode", &jsonschema.Schema{Enum: words(plain)})
	s := &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Enum: words(plain)}, mode}}
	if lag {
		l := object("mode", "buffers")
		l.Properties.Set("mode", &jsonschema.Schema{Const: VisLag})
		l.Properties.Set("buffers", whole(0, NeverForced))
		s.AnyOf = append(s.AnyOf, &jsonschema.Schema{Type: "string", Pattern: "^lag-[0-9]+$"}, l)
	}
	return s
}

// generateSchema is one alternative for each kind, with the arguments that it takes.
func generateSchema(r *jsonschema.Reflector) *jsonschema.Schema {
	all := plainSchema(r, Generate{})
	out := &jsonschema.Schema{Description: "a rule that makes a graph"}
	for _, k := range Kinds {
		s := object(append([]string{"kind"}, k.Needs...)...)
		s.Description = k.Doc
		s.Properties.Set("kind", &jsonschema.Schema{Const: k.Name})
		for _, name := range append(append([]string{}, k.Needs...), k.Takes...) {
			v := *property(all, name)
			switch name {
			case "reductions", "size":
				v.Minimum, v.Maximum = "1", json.Number(fmt.Sprint(NeverForced))
			case "rounds":
				v.Minimum, v.Maximum = "0", json.Number(fmt.Sprint(NeverForced))
			case "elems":
				v.Minimum, v.Maximum = "0", json.Number(fmt.Sprint(int64(MaxElements)))
			case "seed":
				v.Minimum = "0"
			}
			s.Properties.Set(name, &v)
		}
		out.OneOf = append(out.OneOf, s)
	}
	return out
}

// scenarioSchema is the JSON Schema of scenario files.
func scenarioSchema(t *testing.T) []byte {
	r := reflector(t)
	s := r.Reflect(&Scenario{})
	s.ID = "https://github.com/fencesim/fencesim/schema/scenario.schema.json"
	s.Title = "fencesim scenario"
	version := property(s, "fencesim")
	version.Type, version.Const = "", FormatVersion
	property(s, "name").Pattern = `\S`
	narrow(s, "ranks", whole(1, MaxRanks))
	for _, form := range []string{"generate", "graph", "schedule"} {
		s.OneOf = append(s.OneOf, &jsonschema.Schema{Required: []string{form}})
	}
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(b, '\n')
}

// TestSchemaCurrent keeps the committed schema equal to the types. To write it anew:
// go test ./model -run Schema -update
func TestSchemaCurrent(t *testing.T) {
	want := scenarioSchema(t)
	if *update {
		if err := os.MkdirAll(filepath.Dir(schemaFile), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(schemaFile, want, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what the types give: run go test ./model -run Schema -update", schemaFile)
	}
}

func compileSchema(t *testing.T) *validator.Schema {
	t.Helper()
	doc, err := validator.UnmarshalJSON(bytes.NewReader(scenarioSchema(t)))
	if err != nil {
		t.Fatal(err)
	}
	c := validator.NewCompiler()
	if err := c.AddResource("scenario.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("scenario.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// instance turns YAML into what the validator takes.
func instance(t *testing.T, src []byte) any {
	t.Helper()
	var v any
	if err := yaml.Unmarshal(src, &v); err != nil {
		t.Fatal(err)
	}
	var stringKeys func(v any) any
	stringKeys = func(v any) any {
		switch v := v.(type) {
		case map[any]any:
			m := make(map[string]any)
			for k, e := range v {
				m[fmt.Sprint(k)] = stringKeys(e)
			}
			return m
		case map[string]any:
			for k, e := range v {
				v[k] = stringKeys(e)
			}
		case []any:
			for i, e := range v {
				v[i] = stringKeys(e)
			}
		}
		return v
	}
	j, err := json.Marshal(stringKeys(v))
	if err != nil {
		t.Fatal(err)
	}
	out, err := validator.UnmarshalJSON(bytes.NewReader(j))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestSchemaAccepts validates every scenario file of the repository, which Parse must
// accept too, and the examples of these tests.
func TestSchemaAccepts(t *testing.T) {
	s := compileSchema(t)
	accept := func(name string, src []byte) {
		if err := s.Validate(instance(t, src)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := Parse(name, src); err != nil {
			t.Error(err)
		}
	}
	accept("headline.yaml", []byte(headline))
	accept("explicit.yaml", []byte(explicit))
	for _, dir := range []string{"../catalog/scenarios", "../testdata"} {
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err == nil && e.IsDir() && e.Name() == "seeds" {
				return fs.SkipDir // cases around a scenario, not scenarios
			}
			if err != nil || e.IsDir() || filepath.Ext(path) != ".yaml" {
				return err
			}
			src, err := os.ReadFile(path)
			if err == nil && bytes.Contains(src, []byte("fencesim:")) {
				accept(path, src)
			}
			return err
		})
		if err != nil && !os.IsNotExist(err) {
			t.Error(err)
		}
	}
}

// TestSchemaRefuses holds the schema to refusing what it can tell without names.
func TestSchemaRefuses(t *testing.T) {
	s := compileSchema(t)
	const random = "fencesim: 1\ngenerate: {kind: random, seed: 1, size: 4}\n"
	if err := s.Validate(instance(t, []byte(random))); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{
		"generate: {kind: random, seed: 1, size: 4}",
		"fencesim: 2\ngenerate: {kind: random, seed: 1, size: 4}",
		"fencesim: 1",
		random + "graph: {outputs: [x], inputs: {x: 1}}",
		random + "colour: red",
		random + "ranks: 0",
		random + "ranks: four",
		random + "discipline: counts",
		random + "machine: lag-6",
		random + "machine: {slots: -1}",
		random + "machine: {gpu_to_cpu: {mode: lag}}",
		random + "machine: {cpu_to_gpu: lag-1}",
		random + "expect: [{machine: lag-1}]",
		random + "expect: [{verdict: hangs}]",
		"fencesim: 1\ngenerate: {kind: random, seed: 1, size: 4, rounds: 2}",
		"fencesim: 1\ngenerate: {kind: random, seed: 1}",
		"fencesim: 1\ngenerate: {kind: randomly, seed: 1, size: 2}",
		"fencesim: 1\nschedule: {fences: {F: {initial: 4294967296}}}",
		"fencesim: 1\nschedule: {queues: [{name: q, buffers: [[idle]]}]}",
		"fencesim: 1\nschedule: {queues: [{buffers: []}]}",
		"fencesim: 1\nschedule: {streams: [{name: s, tasks: [barrier]}]}",
		"fencesim: 1\ngraph: {streams: {s: {on: tpu}}, outputs: [x], inputs: {x: 1}}",
	} {
		if err := s.Validate(instance(t, []byte(bad))); err == nil {
			t.Errorf("the schema accepts\n%s", bad)
		}
		if _, err := Parse("bad.yaml", []byte(bad)); err == nil {
			t.Errorf("Parse accepts\n%s", bad)
		}
	}
}
