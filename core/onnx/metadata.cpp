// SPDX-License-Identifier: Apache-2.0
#include "core/onnx/metadata_internal.h"

#include <google/protobuf/unknown_field_set.h>
#include <onnx/onnx_pb.h>

namespace fuselage::model_io {

namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

/// The field in types that are new enough to have it.
const FieldDescriptor* knownField(const Message& message, int number) {
    const FieldDescriptor* field = message.GetDescriptor()->FindFieldByNumber(number);
    return field && field->is_repeated() && field->message_type() ? field : nullptr;
}

} // namespace

std::vector<std::string> newerField(const Message& message, int number) {
    std::vector<std::string> out;
    const auto& reflection = *message.GetReflection();
    if (const FieldDescriptor* field = knownField(message, number))
        for (int i = 0; i < reflection.FieldSize(message, field); ++i)
            out.push_back(reflection.GetRepeatedMessage(message, field, i).SerializeAsString());
    const auto& fields = reflection.GetUnknownFields(message);
    for (int i = 0; i < fields.field_count(); ++i)
        if (fields.field(i).number() == number &&
            fields.field(i).type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED)
            out.push_back(fields.field(i).length_delimited());
    return out;
}

void setNewerField(Message& message, int number, const std::string& text) {
    const auto& reflection = *message.GetReflection();
    if (const FieldDescriptor* field = message.GetDescriptor()->FindFieldByNumber(number)) {
        reflection.SetString(&message, field, text);
        return;
    }
    reflection.MutableUnknownFields(&message)->DeleteByNumber(number);
    reflection.MutableUnknownFields(&message)->AddLengthDelimited(number, text);
}

Metadata metadataFrom(const Message& message, int field) {
    Metadata out;
    for (const std::string& bytes : newerField(message, field))
        if (::onnx::StringStringEntryProto entry; entry.ParseFromString(bytes))
            out[entry.key()] = entry.value();
    return out;
}

void metadataTo(const Metadata& metadata, Message& message, int field) {
    const auto& reflection = *message.GetReflection();
    const FieldDescriptor* known = knownField(message, field);
    if (known)
        reflection.ClearField(&message, known);
    else
        reflection.MutableUnknownFields(&message)->DeleteByNumber(field);
    for (const auto& [key, value] : metadata) {
        ::onnx::StringStringEntryProto entry;
        entry.set_key(key);
        entry.set_value(value);
        if (known)
            reflection.AddMessage(&message, known)->ParseFromString(entry.SerializeAsString());
        else
            reflection.MutableUnknownFields(&message)->AddLengthDelimited(
                field, entry.SerializeAsString());
    }
}

} // namespace fuselage::model_io
