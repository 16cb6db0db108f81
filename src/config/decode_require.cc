#include <algorithm>
#include <array>

#include "config/decode.h"
#include "config/document_text.h"

namespace cordon {
namespace {

constexpr std::array<std::string_view, 3> kRequireKeys{"layers", "accept_missing", "backends"};
constexpr std::array<Layer, 5> kLayers{Layer::Namespaces, Layer::Landlock, Layer::Seccomp,
                                       Layer::Capabilities, Layer::Cgroup};

Result<Layer> decode_layer(const Section& require, const PlacedText& word) {
  std::vector<std::string_view> names;
  for (const Layer layer : kLayers) {
    if (*word.text == name_of(layer)) return layer;
    names.push_back(name_of(layer));
  }
  std::string hint = suggestion(*word.text, names);
  if (hint.empty()) {
    hint = "the layers are";
    for (const std::string_view name : names) hint.append(" ").append(name);
  }
  return fail(require.error_at(*word.node, "unknown layer " + shown(*word.text), std::move(hint)));
}

Result<std::vector<Layer>> decode_layers(const Section& require, std::string_view key) {
  std::vector<Layer> layers;
  CORDON_TRY(words, require.texts(key));
  for (const PlacedText& word : words) {
    CORDON_TRY(layer, decode_layer(require, word));
    layers.push_back(layer);
  }
  return layers;
}

Result<BackendKind> decode_backend(const Section& require, const PlacedText& word) {
  if (const auto kind = backend_called(*word.text)) return *kind;
  std::vector<std::string_view> names;
  for (const BackendKind kind : kBackendKinds) names.push_back(name_of(kind));
  std::string hint = suggestion(*word.text, names);
  if (hint.empty()) hint = "the backends are " + known_backends();
  return fail(
      require.error_at(*word.node, "unknown backend " + shown(*word.text), std::move(hint)));
}

Result<void> decode_backends(const Section& require, RequireRules& rules) {
  const Node* list = require.find("backends");
  if (list == nullptr) return {};
  CORDON_TRY(words, require.texts("backends"));
  std::vector<BackendKind> kinds;
  for (const PlacedText& word : words) {
    CORDON_TRY(kind, decode_backend(require, word));
    kinds.push_back(kind);
  }
  if (kinds.empty()) {
    return fail(require.error_at_key(*list, "\"backends\" in [require] names none",
                                     "name those that may be used, or leave the key out"));
  }
  rules.backends = std::move(kinds);
  return {};
}

Error for_ceilings_only(const Section& section, const Node& key, std::string_view name) {
  return section.error_at_key(key, shown(name) + " in [require] is for ceilings only",
                              "move it to the operator's ceiling");
}

template <typename Layers>
bool holds(const Layers& layers, Layer layer) {
  return std::find(layers.begin(), layers.end(), layer) != layers.end();
}

// Going without every layer would be an unsandboxed mode, which does not exist.
Result<void> check_accepted(const Section& section, const RequireRules& require) {
  if (require.accept_missing.empty()) return {};
  const Node& list = *section.find("accept_missing");
  for (const Layer layer : require.accept_missing) {
    if (holds(require.layers, layer)) {
      return fail(section.error_at_key(
          list, shown(name_of(layer)) + " is both required and accepted missing",
          "keep it in one of the two lists"));
    }
  }
  const auto accepted = [&](Layer layer) { return holds(require.accept_missing, layer); };
  if (std::all_of(kLayers.begin(), kLayers.end(), accepted)) {
    return fail(section.error_at_key(list, "\"accept_missing\" in [require] names every layer",
                                     "at least one layer must hold"));
  }
  return {};
}

}  // namespace

Result<void> decode_require(const Section& document, DocumentRole role, RequireRules& require) {
  CORDON_TRY(section, document.member("require", kRequireKeys));
  for (const char* key : {"accept_missing", "backends"}) {
    const Node* node = section.find(key);
    if (node == nullptr || role != DocumentRole::Policy) continue;
    return fail(for_ceilings_only(section, *node, key));
  }
  CORDON_CHECK(decode_backends(section, require));
  CORDON_TRY(layers, decode_layers(section, "layers"));
  require.layers.insert(require.layers.end(), layers.begin(), layers.end());
  CORDON_TRY(missing, decode_layers(section, "accept_missing"));
  for (const Layer layer : missing) require.accept_missing.push_back(run_without(layer));
  return check_accepted(section, require);
}

}  // namespace cordon
