//! gRPC's reflection service: it describes the protocol to tools that do not know it.

use std::sync::Arc;

use boardwire_api::Error;
use futures_util::{StreamExt as _, stream};
use prost::Message as _;
use prost_reflect::{DescriptorPool, FileDescriptor};
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;
use tonic_reflection::pb::v1::{
    ExtensionNumberResponse, FileDescriptorResponse, ListServiceResponse, ServerReflectionRequest,
    ServerReflectionResponse, ServiceResponse,
};

use crate::edge::{Call, EncodedMessage, Reply, RequestStream, Service, ServiceKind};

/// The descriptors of all services.
pub(super) const SETS: [&[u8]; 4] = [
    boardwire_api::FILE_DESCRIPTOR_SET,
    tonic_health::pb::FILE_DESCRIPTOR_SET,
    tonic_reflection::pb::v1::FILE_DESCRIPTOR_SET,
    tonic_reflection::pb::v1alpha::FILE_DESCRIPTOR_SET,
];
/// The approximate size in bytes of a file's descriptor.
const FILE_BYTES: usize = 128 << 10;

/// The files that describe the services.
pub(super) struct Reflection(DescriptorPool);

/// Returns the service under both of its names. Older tools use the second name, whose messages are the same.
pub(super) fn services() -> [Service<Reflection>; 2] {
    let mut pool = DescriptorPool::new();
    for set in SETS {
        pool.decode_file_descriptor_set(set).expect("descriptors are generated");
    }
    let reflection = Arc::new(Reflection(pool));
    ["grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection"].map(|name| {
        Service::new(name, ServiceKind::Reflection, Arc::clone(&reflection))
            .bidi_streaming("ServerReflectionInfo", Reflection::info)
    })
}

impl Reflection {
    async fn info(self: Arc<Self>, call: Call, requests: RequestStream) -> Result<Reply, Error> {
        let state = (self, call, Box::pin(requests.stream()));
        Ok(Reply::stream(stream::try_unfold(state, |(reflection, call, mut requests)| async move {
            let Some(request) = requests.next().await.transpose()? else { return Ok(None) };
            let charge = call.budget().reserve(FILE_BYTES).await?;
            let response = call.budget().with_request_permit(async { reflection.respond(request) }).await?;
            Ok(Some((EncodedMessage::new(charge, &response)?, (reflection, call, requests))))
        })))
    }

    fn respond(&self, request: ServerReflectionRequest) -> Result<ServerReflectionResponse, Error> {
        let file_or = |file: Option<FileDescriptor>, problem: String| {
            // Without imports: the client requests them by name.
            let file = file.ok_or(Error::DescriptorUnknown { problem })?;
            let file_descriptor_proto = vec![file.file_descriptor_proto().encode_to_vec()];
            Ok(MessageResponse::FileDescriptorResponse(FileDescriptorResponse { file_descriptor_proto }))
        };
        let response = match request.message_request.as_ref() {
            Some(MessageRequest::FileByFilename(name)) => {
                file_or(self.0.get_file_by_name(name), format!("file '{name}' not found"))?
            }
            Some(MessageRequest::FileContainingSymbol(name)) => {
                file_or(self.file_of(name), format!("symbol '{name}' not found"))?
            }
            Some(MessageRequest::FileContainingExtension(_)) => {
                file_or(None, "there are no extensions".to_owned())?
            }
            Some(MessageRequest::AllExtensionNumbersOfType(name)) => {
                MessageResponse::AllExtensionNumbersResponse(ExtensionNumberResponse {
                    base_type_name: name.clone(),
                    extension_number: vec![],
                })
            }
            Some(MessageRequest::ListServices(_)) => {
                let services =
                    self.0.services().map(|service| ServiceResponse { name: service.full_name().to_owned() });
                MessageResponse::ListServicesResponse(ListServiceResponse { service: services.collect() })
            }
            None => {
                return Err(Error::field("message_request", "no value", "one of the requests of reflection"));
            }
        };
        Ok(ServerReflectionResponse {
            valid_host: request.host.clone(),
            original_request: Some(request),
            message_response: Some(response),
        })
    }

    /// Returns the file that defines a symbol: a message, enumeration or service, or a field, value or method of one.
    fn file_of(&self, symbol: &str) -> Option<FileDescriptor> {
        let pool = &self.0;
        if let Some(message) = pool.get_message_by_name(symbol) {
            return Some(message.parent_file());
        } else if let Some(enumeration) = pool.get_enum_by_name(symbol) {
            return Some(enumeration.parent_file());
        } else if let Some(service) = pool.get_service_by_name(symbol) {
            return Some(service.parent_file());
        }
        let (parent, name) = symbol.rsplit_once('.')?;
        let message = pool.get_message_by_name(parent);
        let enumeration = pool.get_enum_by_name(parent);
        let service = pool.get_service_by_name(parent);
        let is_defined = message.is_some_and(|message| message.get_field_by_name(name).is_some())
            || enumeration.is_some_and(|enumeration| enumeration.get_value_by_name(name).is_some())
            || service.is_some_and(|service| service.methods().any(|method| method.name() == name));
        if is_defined { self.file_of(parent) } else { None }
    }
}
