// SPDX-License-Identifier: Apache-2.0
// metadata_props of messages. The protobuf types in use may be older than these fields, which
// protobuf then keeps as unknown ones.
#pragma once

#include "core/graph/graph.h"

#include <google/protobuf/message.h>

#include <string>
#include <vector>

namespace fuselage::model_io {

// Numbers of the field in onnx.proto. That of a model is as old as the types.
constexpr int valueMetadataField = 4;
constexpr int nodeMetadataField = 9;
constexpr int functionMetadataField = 14;
constexpr int graphMetadataField = 16;
constexpr int tensorMetadataField = 16;

// Which of several functions of one name is defined or called.
constexpr int functionOverloadField = 13;
constexpr int nodeOverloadField = 8;

/// Of a node: on which devices it should run.
constexpr int nodeDevicesField = 10;

/// Bytes of each entry of a field of messages or strings that the types may not know.
std::vector<std::string> newerField(const google::protobuf::Message& message, int number);

/// Sets such a field that holds one string.
void setNewerField(google::protobuf::Message& message, int number, const std::string& text);

/// Entries that cannot be read are left out; of two with one key the last counts.
Metadata metadataFrom(const google::protobuf::Message& message, int field);

/// Replaces what the field holds.
void metadataTo(const Metadata& metadata, google::protobuf::Message& message, int field);

} // namespace fuselage::model_io
