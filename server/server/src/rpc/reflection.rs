//! The protocol's own description, for tools that know nothing of it.

use std::sync::Arc;

use futures_util::{StreamExt as _, stream};
use prost::Message as _;
use prost_reflect::{DescriptorPool, FileDescriptor};
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;
use tonic_reflection::pb::v1::{
    ExtensionNumberResponse, FileDescriptorResponse, ListServiceResponse, ServerReflectionRequest,
    ServerReflectionResponse, ServiceResponse,
};

use boardwire_api::Error;

use crate::edge::{Call, EncodedMessage, Kind, Reply, RequestStream, Service};

/// What is described.
pub(super) const SETS: [&[u8]; 4] = [
    boardwire_api::DESCRIPTORS,
    tonic_health::pb::FILE_DESCRIPTOR_SET,
    tonic_reflection::pb::v1::FILE_DESCRIPTOR_SET,
    tonic_reflection::pb::v1alpha::FILE_DESCRIPTOR_SET,
];
/// About what the description of a file takes.
const FILE_BYTES: usize = 128 << 10;

/// All files that describe what is served.
pub(super) struct Reflection(DescriptorPool);

/// The service under both of its names: older tools ask for the second, whose messages are the same.
pub(super) fn services() -> [Service<Reflection>; 2] {
    let mut pool = DescriptorPool::new();
    for set in SETS {
        pool.decode_file_descriptor_set(set).expect("descriptors are generated");
    }
    let plane = Arc::new(Reflection(pool));
    ["grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection"].map(|name| {
        Service::new(name, Kind::Reflection, Arc::clone(&plane))
            .stream("ServerReflectionInfo", Reflection::tell)
    })
}

impl Reflection {
    async fn tell(self: Arc<Self>, call: Call, requests: RequestStream) -> Result<Reply, Error> {
        let state = (self, call, Box::pin(requests.stream()));
        Ok(Reply::stream(stream::try_unfold(state, |(reflection, call, mut requests)| async move {
            let Some(asked) = requests.next().await.transpose()? else { return Ok(None) };
            let charge = call.budget().reserve(FILE_BYTES).await?;
            let answer = call.budget().in_turn(async { reflection.answer(asked) }).await?;
            let answer = EncodedMessage::new(charge, &answer)?;
            Ok(Some((answer, (reflection, call, requests))))
        })))
    }

    fn answer(&self, asked: ServerReflectionRequest) -> Result<ServerReflectionResponse, Error> {
        let unknown = |problem| Error::DescriptorUnknown { problem };
        let answer = match asked.message_request.as_ref() {
            Some(MessageRequest::FileByFilename(name)) => {
                let found = self.0.get_file_by_name(name);
                described(&found.ok_or_else(|| unknown(format!("file '{name}' not found")))?)
            }
            Some(MessageRequest::FileContainingSymbol(name)) => {
                let found = self.find(name);
                described(&found.ok_or_else(|| unknown(format!("symbol '{name}' not found")))?)
            }
            Some(MessageRequest::FileContainingExtension(_)) => {
                return Err(unknown("there are no extensions".to_owned()));
            }
            // There are no extensions.
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
                return Err(Error::field("message_request", "nothing", "one of the requests of reflection"));
            }
        };
        Ok(ServerReflectionResponse {
            valid_host: asked.host.clone(),
            original_request: Some(asked),
            message_response: Some(answer),
        })
    }

    /// The file that defines a message, an enumeration, a service, or a field, a value or a method of one.
    fn find(&self, name: &str) -> Option<FileDescriptor> {
        let whole = |name: &str| {
            let message = self.0.get_message_by_name(name).map(|found| found.parent_file());
            let enumeration = || self.0.get_enum_by_name(name).map(|found| found.parent_file());
            let service = || self.0.get_service_by_name(name).map(|found| found.parent_file());
            message.or_else(enumeration).or_else(service)
        };
        let part = || {
            let (of, part) = name.rsplit_once('.')?;
            let field =
                self.0.get_message_by_name(of).is_some_and(|found| found.get_field_by_name(part).is_some());
            let value =
                || self.0.get_enum_by_name(of).is_some_and(|found| found.get_value_by_name(part).is_some());
            let method = || {
                self.0
                    .get_service_by_name(of)
                    .is_some_and(|found| found.methods().any(|each| each.name() == part))
            };
            (field || value() || method()).then(|| whole(of)).flatten()
        };
        whole(name).or_else(part)
    }
}

/// A file as it is sent; what it imports is asked for by name.
fn described(file: &FileDescriptor) -> MessageResponse {
    MessageResponse::FileDescriptorResponse(FileDescriptorResponse {
        file_descriptor_proto: vec![file.file_descriptor_proto().encode_to_vec()],
    })
}
